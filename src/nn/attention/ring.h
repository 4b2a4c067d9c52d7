// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// K and V, packed as (2, B, S, key heads, d), go once round the ring of p workers of one axis. Before step j
/// worker i has the piece of worker i − j. Their gradients go with them, one hop later, and p hops take them
/// home. Any splits. Pure: made without communication, also on simulated partitions.
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

  /// The work of the worker of `rank` in all steps: 2 for each score of a tile that causality hides nothing
  /// of, and 1 where it hides some.
  std::int64_t half_scores(int rank, bool causal) const;

 private:
  Space Q_;
  std::vector<Space> at_;
  std::vector<Operator> hops_;
  std::vector<Operator> gradient_hops_;
};

}  // namespace riesz::detail
