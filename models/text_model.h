// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/generation/text_model.h"
#include "riesz/models/causal_model.h"

namespace riesz::models {

/// A causal model as `generate` and `evaluate_text` use it. The model must outlive the result. Local.
TextModel text_model(CausalModel& model);

}  // namespace riesz::models
