// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/train/learner.h"

namespace riesz::app {

/// A model, and how training sees it.
struct HeldModel {
  std::shared_ptr<const void> held;  ///< what the rest is of
  Learner learner;

  const Module& module() const { return learner.module; }
};

/// @throws Error naming keys where the model cannot be divided into the stages that the configuration says.
/// Local; makes no weights.
void check_stages(const Config& config);

/// The model as configured, on this job's workers, with its first weights, drawn; its learner loads those of
/// config.model.from, if any. Local; every worker makes it alike. But where the stages depend on time
/// (`measures_time`), some micro-batches are run first, in stages by count: collective over the job.
HeldModel make_model(const Config& config, const Task& task);

}  // namespace riesz::app
