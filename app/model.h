// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/models/min_gpt.h"
#include "riesz/train/language_model.h"

namespace riesz::app {

/// @throws Error naming keys where the model cannot be divided into the stages that the configuration says.
/// Local; makes no weights.
void check_stages(const Config& config);

/// minGPT as configured, on this job's workers, with its first weights. Local; every worker makes it alike.
/// But where the stages depend on time (`measures_time`), some micro-batches are run first, in stages by
/// count: collective over the job.
std::unique_ptr<models::MinGpt> make_model(const Config& config, const Task& task);

/// What training needs of it; `model` outlives it.
LanguageModel language_model(models::MinGpt& model, const Config& config);

}  // namespace riesz::app
