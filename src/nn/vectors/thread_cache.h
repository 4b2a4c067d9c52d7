// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace riesz::detail {

/// A cache of the values made last, by key, for one thread: spaces and operators of the few layers and shapes
/// of a model. Make it thread_local; then it needs no lock.
template <typename Key, typename Value>
class ThreadCache {
 public:
  /// The value of an equal key, else make(), which replaces the oldest. The reference is valid until the next
  /// call.
  template <typename Make>
  const Value& of(const Key& key, Make make) {
    for (const auto& [known, value] : kept_) {
      if (known == key) return value;
    }
    std::pair<Key, Value> made(key, make());
    if (kept_.size() < kMost) return kept_.emplace_back(std::move(made)).second;
    oldest_ = (oldest_ + 1) % kMost;
    return (kept_[oldest_] = std::move(made)).second;
  }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<std::pair<Key, Value>> kept_;
  std::size_t oldest_ = 0;
};

}  // namespace riesz::detail
