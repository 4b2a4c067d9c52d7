// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// ReduceScatter: Partial → Sharded(d). y_r = Σ x_s | box_r over the fibre, in rank order (bf16 and fp16 in fp32).
/// Adjoint: AllGather, Sharded(d) → Copied.
/// Cost: n − n_r elements leave worker r, which keeps n_r of n, in a message to each worker that keeps any.
Step reduce_scatter(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
