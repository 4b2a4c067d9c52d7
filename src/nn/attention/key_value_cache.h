// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "riesz/partition/vector.h"

namespace riesz {

/// The keys and values of all positions so far, for generation. Each call computes those of the new tokens
/// alone:
///
///     const std::int64_t before = cache.positions();
///     cache.append(rotary(k, {.offset = before}), v);
///     y = attention(rotary(q, {.offset = before}), cache.keys(), cache.values(),
///                   {.causal = true, .offset = before - cache.first()});
///
/// With the layer `Attention`: attend(q, k, v, AttentionCall{.cache = &cache}). Keys and values lie as k and
/// v do: batch and heads sharded in any way, sequences whole. Local. Records no gradients.
///
/// A copy is independent, such as for beams that share their beginning. It shares the memory until one of the
/// two appends, which then copies what it holds.
class KeyValueCache {
 public:
  /// Makes room for `capacity` positions at the first append; when it is full, the room doubles. With a
  /// window, as in attention, only the last window - 1 positions are kept, and memory stays at two windows
  /// plus one append.
  explicit KeyValueCache(std::int64_t capacity = 0, std::optional<std::int64_t> window = std::nullopt);

  /// Appends the next n positions: k and v in one space of shape (B, n, key heads, d). Cost: a copy of them,
  /// at times of all that is kept. @throws Error where an axis shards the sequence, the space is another than
  /// before, or a gradient would be recorded.
  void append(const Vector& k, const Vector& v);

  /// The number of positions appended so far.
  std::int64_t positions() const { return first_ + held_; }
  /// The first position that is held: 0, or with a window the first that the last append's positions see.
  std::int64_t first() const { return first_; }
  std::optional<std::int64_t> window() const { return window_; }
  /// The keys of positions first() … positions() − 1, of shape (B, positions() − first(), key heads, d). The
  /// view is valid until the next append. @throws Error before the first.
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
