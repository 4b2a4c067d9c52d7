// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Slice: Replicated or Copied → Sharded(d). y_r = x_r | box_r, an alias: each worker keeps its piece of what all have.
/// Adjoint: AllGather, Sharded(d) → Replicated, of the first form; Pad, Sharded(d) → Partial, of the second.
/// Cost: 0 elements, 0 messages.
Step slice(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
