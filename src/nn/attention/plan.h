// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/nn/attention/key_heads.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// A plan of attention: where softmax(q·kᵀ)·v is computed. It follows from placements alone, without
/// communication, is alike on all workers, and works on simulated partitions too.
struct AttentionPlan {
  Space queries;                    ///< (B, T, heads, d)
  Space keys;                       ///< (B, S, key heads, d), of K and of V as computed with
  std::optional<std::string> ring;  ///< the axis that shards both T and S

  /// (B, heads, T, S): where the probabilities of this worker's rows lie, S whole.
  Space probabilities() const;
  /// The key heads that the query heads of the worker of `rank` use.
  KeyHeads key_heads(int rank) const;
  /// Where a mask of (T, S), (B, T, S) or (B, heads, T, S) lies beside the probabilities. In the last form B,
  /// heads and T may be 1. @throws Error on another shape.
  Space beside(const Space& mask) const;
  /// Where the (B, S) of seen keys lies beside the probabilities, with S whole.
  Space seen_keys() const;
};

/// The plan for q in Q, k and v in K. @throws Error naming what does not fit: spaces, axis and remedy.
AttentionPlan plan_attention(const Space& Q, const Space& K);

/// (2, B, S, key heads, d): K and V in one.
Space packed(const Space& K);

}  // namespace riesz::detail
