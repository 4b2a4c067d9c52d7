// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/visibility.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz::detail {

/// Local tensors: q of (B, T, heads, d), and k and v of (B, S, key heads, d) with S whole. `mask` broadcasts
/// against the probabilities, and `seen`, of (B, S), says which keys are seen; both may be undefined.
struct LocalOperands {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor mask;
  at::Tensor seen;
};

/// y of (B, T, heads, d) for this worker's rows, wherever they are in the global sequence. It is a ring of
/// one step. Each tile's rows see no other tile, so no tiles are joined, and torch's own operations record
/// the gradient. `dropout` is nullptr, or active.
at::Tensor local_attention(const PreparedAttention& prepared, const LocalOperands& operands,
                           const Visibility& visibility, double scale, const Dropout* dropout);

}  // namespace riesz::detail
