// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/train/config/config.h"
#include "riesz/train/loop/on_step.h"

namespace riesz::app {

/// Makes the configuration's model on this job's workers, trains it and reports (`run_session`). `also` is
/// called after every step. Collective over the job. @throws Error on bad input, before anything is written.
void train(const Config& config, const OnStep& also = {});

}  // namespace riesz::app
