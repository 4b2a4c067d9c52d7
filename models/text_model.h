// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/generation/text_model.h"
#include "riesz/models/causal_model.h"

namespace riesz::models {

/// What `generate` and `evaluate_text` need of a causal model, which must outlive the result. Local.
TextModel text_model(CausalModel& model);

}  // namespace riesz::models
