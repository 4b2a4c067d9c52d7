// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <utility>

namespace riesz {

class Module;

/// A cache of what the parts of a model keep from one call to the next, for generation: attention the keys
/// and values of earlier tokens, a scan its state. Each part keeps a value of a type of its own, which no
/// other part sees. Local.
///
///     ModelCache cache;
///     for (const Vector& ids : parts_of_a_text) {
///       const CacheScope scope(cache, ids.space().shape()[1]);
///       logits = model(ids);
///     }
///
/// A cache is of one model, which outlives its use. A copy is independent if the parts' values are, such as
/// for beams that share their beginning.
class ModelCache {
 public:
  /// Parts make room for this number of positions at first.
  explicit ModelCache(std::int64_t room = 0) : room_(room) {}

  /// The number of positions of the calls so far.
  std::int64_t positions() const { return positions_; }
  std::int64_t room() const { return room_; }

  /// What `part` keeps, made by make() the first time. Valid until the cache goes, or is cleared.
  template <typename Make>
  auto& of(const Module& part, const Make& make) {
    using Kept = decltype(make());
    Slot& slot = slots_[&part];
    if (!slot.state.has_value()) slot = {make(), clear_state<Kept>};
    return std::any_cast<Kept&>(slot.state);
  }

  /// Forgets all positions. A part's value is cleared by its clear(), if it has one, and else dropped.
  void clear();

 private:
  friend class CacheScope;

  struct Slot {
    std::any state;
    void (*clear)(std::any&) = nullptr;
  };

  template <typename Kept>
  static void clear_state(std::any& state) {
    if constexpr (requires(Kept & value) { value.clear(); })
      std::any_cast<Kept&>(state).clear();
    else
      state.reset();
  }

  std::int64_t room_;
  std::int64_t positions_ = 0;
  std::map<const Module*, Slot> slots_;
};

/// Gives a cache to the calls of modules on this thread while it lives: one call of a model, with so many
/// positions a sequence. Then the cache counts them, unless an exception ends the call; clear it after one.
/// Scopes nest; the innermost counts.
class CacheScope {
 public:
  CacheScope(ModelCache& cache, std::int64_t positions);
  ~CacheScope();
  CacheScope(const CacheScope&) = delete;
  CacheScope& operator=(const CacheScope&) = delete;

  /// This thread's, or nullptr.
  static ModelCache* current();

 private:
  ModelCache& cache_;
  std::int64_t positions_;
  int exceptions_;
  ModelCache* outer_;
};

/// The number of positions before those of this call: those that the cache has counted, or 0 without one.
std::int64_t first_position();

}  // namespace riesz
