// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/train/config/config.h"
#include "riesz/train/loop/loop.h"

namespace riesz {

/// Runs a whole training job. It checks that all workers agree and that results can be written, and trains
/// with a progress line. Then it reports what the model can do, with a picture of the loss and a summary.
/// Rank 0 prints and writes (`Results`). `also` is called with every step's row (`OnStep`). Nothing is
/// written before every worker has called it. A signal to any worker (`StopSignals`) ends training after the
/// current step, with the report. Collective over the model's workers.
void run_session(const Config& config, const Learner& model, const Task& task, const OnStep& also = {});

}  // namespace riesz
