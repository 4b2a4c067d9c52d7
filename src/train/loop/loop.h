// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"
#include "riesz/train/loop/learner.h"
#include "riesz/train/loop/on_step.h"
#include "riesz/train/loop/profile.h"
#include "riesz/train/loop/step.h"
#include "riesz/train/report/history.h"

namespace riesz {

/// Asked on every worker after each step: shall this step be the last? One worker's yes is enough.
using Stop = std::function<bool()>;

struct Trained {
  std::vector<Row> rows;  ///< one for each step that was made here
  double seconds = 0;     ///< of the steps alone, without measurements of the held-out loss
  HeldOut held_out;       ///< of the last measurement, which the last step has
  /// The traffic that left this worker in one step, by operator: in the second step, or the first if there
  /// was only one.
  std::map<std::string, Traffic> traffic;
};

/// Trains, one batch a step. The rows are the same on all workers except for the times. With `stop` workers
/// agree after each step whether it is the last, by an AllMax of one byte over the grid. `made`: the progress
/// of the training that this one resumes; steps and rows of data go on from there. Collective over the
/// model's workers.
///
/// On a device `on_step` gets a step's row when the next step has begun, so nothing waits for its numbers. It
/// gets the row sooner after the last step, when the held-out loss is measured, and after steps for which
/// `at_once` is true, such as for a checkpoint. Steps are numbered from 1.
/// `profile`: is told where steps begin and end, and gets ranges for the step, its data and the evaluation.
/// @throws Error as a step does.
Trained run_training(const Config::Train& config, TrainingStep& train_step, const Learner& model,
                     const Task& task, const OnStep& on_step, const Stop& stop = {},
                     const TrainingProgress& made = {},
                     const std::function<bool(std::int64_t step)>& at_once = {}, Profile* profile = nullptr);

}  // namespace riesz
