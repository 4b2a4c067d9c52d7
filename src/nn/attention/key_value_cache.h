// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "riesz/partition/vector.h"

namespace riesz {

/// The keys and values of the positions so far, for generation: each call computes those of new tokens alone,
///
///     const std::int64_t before = cache.positions();
///     cache.append(rotary(k, {.offset = before}), v);
///     y = attention(rotary(q, {.offset = before}), cache.keys(), cache.values(),
///                   {.causal = true, .offset = before - cache.first()});
///
/// or with the layer `Attention`, attend(q, k, v, AttentionCall{.cache = &cache}). They lie as k and v do:
/// batch and heads sharded in any way, sequences whole. Moves nothing. Records no gradients.
///
/// A copy goes on by itself, as beams that share their beginning do: it shares the memory until one of the
/// two appends, which then copies what it holds.
class KeyValueCache {
 public:
  /// With room for `capacity` positions from the first append on; beyond, the room doubles. With a window, as
  /// attention has it, only the last window - 1 positions are kept. Memory stays at two windows plus one
  /// append.
  explicit KeyValueCache(std::int64_t capacity = 0, std::optional<std::int64_t> window = std::nullopt);

  /// k and v in one space of (B, n, key heads, d): the next n positions. Cost: a copy of them, and at times
  /// of all that is kept. @throws Error where an axis shards the sequence; where they lie otherwise than
  /// those before; where a gradient would be recorded.
  void append(const Vector& k, const Vector& v);

  /// All that were appended.
  std::int64_t positions() const { return first_ + held_; }
  /// The first that is held: 0, or with a window the first that the last append's positions see.
  std::int64_t first() const { return first_; }
  std::optional<std::int64_t> window() const { return window_; }
  /// Positions first() … positions() − 1: (B, positions() − first(), key heads, d), views that hold until the
  /// next append. @throws Error before the first.
  Vector keys() const { return part(0); }
  Vector values() const { return part(1); }

  /// Forgets all positions, and keeps the room.
  void clear() { first_ = held_ = begin_ = 0; }

 private:
  Vector part(int which) const;
  void forget_hidden();
  void make_room(std::int64_t more, const at::Tensor& like);
  at::Tensor room() const { return room_ ? *room_ : at::Tensor(); }
  void take(const at::Tensor& room) { room_ = std::make_shared<const at::Tensor>(room); }

  std::int64_t capacity_;
  std::optional<std::int64_t> window_;
  std::int64_t first_ = 0;
  std::int64_t held_ = 0;
  std::int64_t begin_ = 0;                  // where in the room the first that is held lies
  std::optional<Space> space_;              // of what was appended last
  std::shared_ptr<const at::Tensor> room_;  // (2, B, capacity, key heads, d) of this worker; copies share it
};

}  // namespace riesz
