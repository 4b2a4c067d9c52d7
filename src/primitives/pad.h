// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Pad: Sharded(d) → Partial. y_r is x_r in the place of its piece, zero elsewhere: the terms sum to the vector.
/// Adjoint: Slice, Copied → Sharded(d). Cost: 0 elements, 0 messages.
Step pad(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
