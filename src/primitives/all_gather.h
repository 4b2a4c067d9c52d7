// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// AllGather: Sharded(d) → Replicated or Copied. y_r is the pieces of the whole fibre put together.
/// Adjoint: Slice, Replicated → Sharded(d), of the first form; ReduceScatter, Partial → Sharded(d), of the second.
/// Cost: (p − 1)·n_r elements and p − 1 messages leave worker r, which holds n_r of n elements.
Step all_gather(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
