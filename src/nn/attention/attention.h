// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/nn/layers/dropout.h"

namespace riesz {

/// How attention(q, k, v) weighs positions.
struct AttentionOptions {
  /// Position t of q sees the positions s ≤ t + offset of k, also where T ≠ S.
  bool causal = false;
  /// Where among k's positions the first of q's stands: how many keys there were before (KeyValueCache).
  std::int64_t offset = 0;
  /// Of causal attention: position t sees but the last so many, t + offset − window < s ≤ t + offset.
  std::optional<std::int64_t> window = std::nullopt;
  /// What is added to the scores; or, of booleans, which positions are seen. Of (T, S), (B, T, S) or
  /// (B, heads, T, S), in any space; what is added has a gradient.
  std::optional<Vector> mask = std::nullopt;
  /// 1/√d unless given.
  std::optional<double> scale = std::nullopt;
  /// Applied to the softmax; its mask is that of the global indices of (B, heads, T, S). Part of an
  /// initialised model.
  const Dropout* dropout = nullptr;
};

/// y = softmax(scale·q·kᵀ + mask)·v per sequence and head (Vaswani et al., 1706.03762): q in (B, T, heads,
/// d), k and v in one space of (B, S, key heads, d) → y in q's space. A position that sees none is zero.
/// Heads may be grouped (Ainslie et al., 2305.13245): of heads = m·(key heads), query head i uses key head
/// i/m. What is done follows from the placements on each axis:
///
/// | q                    | k and v         | what it is                   | elements that leave a worker |
/// |----------------------|-----------------|------------------------------|------------------------------|
/// | batch                | the same, alike | local                        | 0                            |
/// | heads                | heads, or Copied| local                        | 0                            |
/// | heads                | Replicated      | the same, read as Copied     | 0; backward an AllReduce     |
/// | Replicated           | Replicated      | local                        | 0                            |
/// | T sharded, or Copied | Copied          | local; K, V gathered before  | 0                            |
/// | T sharded, or Copied | Replicated      | the same, read as Copied     | 0; backward an AllReduce     |
/// | T sharded            | S sharded       | ring attention               | see ring_attention.h         |
///
/// Where heads are sharded, each worker needs the key heads that its query heads use: the same split in
/// whole groups, or one that overlaps where workers share a key head (Split::covering).
/// Any axes at once, one of them a ring; splits balanced, of any sizes, zigzag (which evens causal work out),
/// empty. Ulysses is between(T sharded, heads sharded) of q, k and v, this, and back.
/// Collective over the partition. @throws Error naming spaces, axis and remedy where the placements do not
/// fit; where the dropout is in no initialised model; and from second derivatives of a ring.
Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options = {});

/// Causal self-attention of the projections in a space of (3, B, T, heads, d), q, k and v along the first
/// dim, → (B, T, heads, d), with `drop` on the softmax. As attention(): local where batch or heads are
/// sharded, a ring where T is; k and v travel as they lie.
Vector causal_attention(const Vector& qkv, const Dropout& drop);

}  // namespace riesz
