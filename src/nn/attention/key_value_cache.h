// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/partition/vector.h"

namespace riesz {

/// The keys and values of the positions so far, for generation: each call computes those of new tokens alone,
///
///     const std::int64_t before = cache.positions();
///     cache.append(rotary(k, {.offset = before}), v);
///     y = attention(rotary(q, {.offset = before}), cache.keys(), cache.values(), {.causal = true, .offset =
///     before});
///
/// They lie as k and v do: batch and heads sharded in any way, sequences whole. Moves nothing. Records no
/// gradients.
class KeyValueCache {
 public:
  /// With room for so many positions from the first append on; beyond, the room doubles.
  explicit KeyValueCache(std::int64_t capacity = 0);

  /// k and v in one space of (B, n, key heads, d): the next n positions. Cost: a copy of them, now and then
  /// of all. @throws Error where an axis shards the sequence; where they lie otherwise than those before;
  /// where a gradient would be recorded.
  void append(const Vector& k, const Vector& v);

  std::int64_t positions() const { return positions_; }
  /// (B, positions, key heads, d), views that hold until the next append. @throws Error before the first.
  Vector keys() const { return held(0); }
  Vector values() const { return held(1); }

  /// Forgets all positions, and keeps the room.
  void clear() { positions_ = 0; }

 private:
  Vector held(int which) const;
  void make_room(std::int64_t positions, const at::Tensor& like);

  std::int64_t capacity_;
  std::int64_t positions_ = 0;
  std::optional<Space> space_;  // of what was appended last
  at::Tensor room_;             // (2, B, capacity, key heads, d) of this worker
};

}  // namespace riesz
