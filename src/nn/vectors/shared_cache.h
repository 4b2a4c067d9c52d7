// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace riesz::detail {

/// A cache of the values of the last few keys, the last used first. Threads share it: for large values, and
/// for values that both the program's thread and backward's ask for. A value must be cheap to copy.
template <typename Key, typename Value>
class SharedCache {
 public:
  explicit SharedCache(std::size_t most) : most_(most) {}

  /// make(), or what it gave for an equal key. Where it throws, nothing is kept.
  template <typename Make>
  Value get(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != all_.end()) {
      all_.splice(all_.begin(), all_, found);
    } else {
      all_.emplace_front(key, make());
      if (all_.size() > most_) all_.pop_back();
    }
    return all_.front().second;
  }

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<Key, Value>> all_;
};

}  // namespace riesz::detail
