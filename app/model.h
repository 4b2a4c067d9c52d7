// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/models/min_gpt.h"
#include "riesz/train/language_model.h"

namespace riesz::app {

/// minGPT as configured, on this job's workers, with its first weights. Local; every worker makes it alike.
std::unique_ptr<models::MinGpt> make_model(const Config& config, const Task& task);

/// What training needs of it; `model` outlives it.
LanguageModel language_model(models::MinGpt& model);

}  // namespace riesz::app
