// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/nn/attention/key_heads.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// Where softmax(q·kᵀ)·v is computed, from placements alone. Pure: made without communication, alike on all
/// workers, also on simulated partitions.
struct AttentionPlan {
  Space queries;                    ///< (B, T, heads, d)
  Space keys;                       ///< (B, S, key heads, d), of K and of V as computed with
  std::optional<std::string> ring;  ///< the axis that shards both T and S

  /// (B, heads, T, S): where the probabilities of this worker's rows lie, S whole.
  Space probabilities() const;
  /// The key heads that the query heads of the worker of `rank` use.
  KeyHeads key_heads(int rank) const;
  /// Where a mask of (T, S), (B, T, S) or (B, heads, T, S), B, heads and T of the last perhaps 1, stands
  /// beside them. @throws Error on another shape.
  Space beside(const Space& mask) const;
  /// Where (B, S), which keys are seen, stands beside them, S whole.
  Space seen_keys() const;
};

/// The plan for q in Q, k and v in K. @throws Error naming what does not fit: spaces, axis and remedy.
AttentionPlan plan_attention(const Space& Q, const Space& K);

/// (2, B, S, key heads, d): K and V in one.
Space packed(const Space& K);

}  // namespace riesz::detail
