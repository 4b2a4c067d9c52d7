// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/visibility.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz::detail {

/// What ring attention is given: local tensors, K and V packed, a mask that stands beside the probabilities
/// of q's rows and all columns, and which keys are seen, of (B, S); the last two may be undefined.
struct RingOperands {
  at::Tensor q;
  at::Tensor kv;
  at::Tensor mask;
  at::Tensor seen;
};

/// Attention where q's T and k's S are sharded on one axis of p workers (Liu et al., 2310.01889): p − 1 hops
/// take K and V round the ring. While a piece is on its way to the next worker, the rows here attend to it,
/// and what they attend to is joined exactly by log-sum-exp, in fp32 for half types. Backward sends K and V
/// round again, and their gradients with them, which hop home. Any splits of T and of S, the same or not.
/// Causal: what is hidden wholly is not computed.
///
/// From worker i, with n_r the elements of K and V that worker r holds, n those of all:
///     forward   Σ_{j<p−1} n_{i−j} in p − 1 messages: (p − 1)/p·n where balanced, which is 2(p − 1)/p·bsh
///     backward  the same again, and the gradients' n in p messages
///
/// Gradients of half types travel in fp32. Dropout's masks are kept for backward, a byte a probability;
/// `dropout` is nullptr, or active.
///
/// y in q's space. Differentiable once, as one node of the current Chain. Collective over the partition.
/// @throws Error without a Chain if gradients are recorded; from second derivatives.
at::Tensor ring_attention(std::shared_ptr<const PreparedAttention> prepared, const RingOperands& operands,
                          const Visibility& visibility, double scale, const Dropout* dropout);

}  // namespace riesz::detail
