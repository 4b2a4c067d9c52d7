// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/attention.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// Attention where q's T and k's S are sharded on one axis of p workers (Liu et al., 2310.01889): K and V,
/// packed as (2, B, S, heads, d), go round the ring of the axis, p − 1 hops forward. While a piece is on its
/// way to the next worker, the rows here attend to the one before, and what they attend to is joined exactly
/// by log-sum-exp, in fp32 for half types. Backward sends K and V round again, and their gradients with them,
/// which hop home. Any splits of T and of S, the same or not. Causal: what is hidden wholly is not computed.
///
/// With n_r the elements of K and V that worker r holds, Σ over its steps of what it has of others':
///     forward   p − 1 messages, (p − 1)/p·n where balanced, n = 2·B·S·heads·d
///     backward  2p − 1 messages, (p − 1)/p·n again, and n of the gradients
class Ring {
 public:
  /// K and V packed in KV, whose S `axis` alone shards; q in Q.
  Ring(Space Q, Space KV, const std::string& axis);

  const Space& queries() const { return Q_; }
  /// K and V before each step, step 0 … p, as at the start and at the end.
  const Space& at(int step) const { return at_[static_cast<std::size_t>(step)]; }
  /// From one step to the next: of K and V, and of their gradients.
  const Operator& hop(int step) const { return hops_[static_cast<std::size_t>(step)]; }
  const Operator& gradient_hop(int step) const { return gradient_hops_[static_cast<std::size_t>(step)]; }
  int steps() const { return static_cast<int>(hops_.size()); }

  /// What the worker of `rank` computes in all steps: 2 for each score of a tile of which causality hides
  /// nothing, 1 where it hides some.
  std::int64_t half_scores(int rank, bool causal) const;

 private:
  Space Q_;
  std::vector<Space> at_;
  std::vector<Operator> hops_;
  std::vector<Operator> gradient_hops_;
};

/// What ring attention is given: local tensors, K and V packed, and a mask that stands beside the
/// probabilities of q's rows and all columns, or is undefined.
struct RingOperands {
  at::Tensor q;
  at::Tensor kv;
  at::Tensor mask;
};

/// y in q's space. Differentiable once, as one node of the current Chain. Collective over the partition.
/// @throws Error without a Chain if gradients are recorded; from second derivatives.
at::Tensor ring_attention(const Ring& ring, const RingOperands& operands, const AttentionOptions& options);

}  // namespace riesz
