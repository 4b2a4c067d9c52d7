// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Copy: Replicated → Copied on the axes. y_r = x_r, an alias: every worker has the vector already and will use its own
/// copy differently, so the gradients of the copies are to be added.
/// Adjoint: AllReduce, Partial → Replicated. Cost: 0 elements, 0 messages.
Step copy(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
