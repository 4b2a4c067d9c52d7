// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "riesz/nn/attention/key_heads.h"
#include "riesz/nn/attention/plan.h"
#include "riesz/nn/attention/ring.h"

namespace riesz::detail {

/// A plan, and what this worker needs to follow it.
struct PreparedAttention {
  AttentionPlan plan;              ///< for queries in Q; K is `read.domain()`
  Operator read;                   ///< of K, or V: from where it lies to where it is computed with
  Operator read_packed;            ///< of both at once
  std::optional<Ring> ring;        ///< set if K and V go round a ring
  Boxes queries;                   ///< held here; like the columns empty outside the partition
  std::vector<Intervals> columns;  ///< positions of k that are here, by step of the ring; one step without
  KeyHeads key_heads;
  std::vector<std::int64_t> probabilities;  ///< (B, heads, T, S), the global shape
};

/// The prepared attention for q in Q, and k and v in K. The last few pairs of spaces are kept. Local.
/// @throws Error naming what does not fit: spaces, axis and remedy.
std::shared_ptr<const PreparedAttention> prepared_attention(const Space& Q, const Space& K);

}  // namespace riesz::detail
