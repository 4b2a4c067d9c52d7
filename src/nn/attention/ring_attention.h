// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/visibility.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz::detail {

/// The local operands of ring attention, with K and V packed. `mask` broadcasts against the probabilities of
/// q's rows and all columns, and `seen`, of (B, S), says which keys are seen; both may be undefined.
/// `constant`: all of them are parts of constants.
struct RingOperands {
  at::Tensor q;
  at::Tensor kv;
  at::Tensor mask;
  at::Tensor seen;
  bool constant = false;
};

/// Attention where q's T and k's S are sharded on one axis of p workers (Liu et al., 2310.01889). K and V go
/// round the ring in p − 1 hops. While a piece is on its way to the next worker, the rows here attend to it.
/// Partial results are joined exactly by log-sum-exp, in fp32 for half types. Backward sends K and V round
/// again together with their gradients, which take one more hop home. T and S may have any splits, the same
/// or not. Wholly hidden tiles are not computed.
///
/// Elements that worker i sends, where worker r holds n_r elements of K and V, and all workers n:
///     forward   Σ_{j<p−1} n_{i−j} in p − 1 messages: (p − 1)/p·n where balanced, which is 2(p − 1)/p·bsh
///     backward  the same again, and the gradients' n in p messages
///
/// Gradients of half types travel in fp32. Dropout's masks are kept for backward, a byte a probability;
/// `dropout` is nullptr, or active.
///
/// Gives y in q's space. Differentiable once, as one node of the current Chain. Collective over the
/// partition.
/// @throws Error without a Chain if gradients are recorded; from second derivatives.
at::Tensor ring_attention(std::shared_ptr<const PreparedAttention> prepared, const RingOperands& operands,
                          const Visibility& visibility, double scale, const Dropout* dropout);

}  // namespace riesz::detail
