// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace riesz::detail {

/// Keeps the values made last, by key: spaces and operators of the few kinds of layers and shapes that a
/// model has. Calls then find them and do not make them again. It is a thread_local: small vectors are found
/// in it without a lock.
template <typename Key, typename Value>
class ThreadCache {
 public:
  /// The value of an equal key, else make(), which is kept in place of the oldest. It stands until the next
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
