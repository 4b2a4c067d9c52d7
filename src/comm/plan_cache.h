// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace riesz::detail {

/// A cache of plans: what calls with vectors of the same spaces share, made once. A plan never changes and
/// contains what it follows from, by which it is found; no key is copied. Threads may share a cache: each
/// holds the plan that it uses, and no lock is held while a plan is made. So a plan may use other plans.
///
///     static auto& plans = *new PlanCache<Plan>;  // never freed: at the program's end threads may call
///     const auto plan = plans.get([&](const Plan& made) { return made.X == X; },
///                                 [&] { return planned(X); });
///
/// A search begins at the last plan found, so repeated calls in one order compare at most two plans each, if
/// the cache has no others. A cycle of more than `most` plans finds none. `fits` runs under the lock and must
/// not use this cache.
template <typename Plan>
class PlanCache {
 public:
  /// Keeps at most this many plans; then a new one replaces the oldest.
  explicit PlanCache(std::size_t most = 64) : most_(most) {}

  /// The plan for which fits(plan) is true, or else make(). Where that throws, nothing is kept. Two threads
  /// that make one at the same time both get the one that was kept first.
  template <typename Fits, typename Make>
  std::shared_ptr<const Plan> get(const Fits& fits, const Make& make) {
    if (auto found = find(fits)) return found;
    return keep(fits, std::make_shared<const Plan>(make()));
  }

  /// The plan for which fits(plan) is true, or nullptr.
  template <typename Fits>
  std::shared_ptr<const Plan> find(const Fits& fits) {
    const std::lock_guard lock(mutex_);
    return found(fits);
  }

  /// Keeps `made`, unless there is one for which fits(plan) is true; returns the one that is kept.
  template <typename Fits>
  std::shared_ptr<const Plan> keep(const Fits& fits, std::shared_ptr<const Plan> made) {
    const std::lock_guard lock(mutex_);
    if (auto others = found(fits)) return others;
    if (plans_.size() < most_) return plans_.emplace_back(std::move(made));
    plans_[oldest_].swap(made);
    return plans_[std::exchange(oldest_, (oldest_ + 1) % most_)];
  }

 private:
  template <typename Fits>
  std::shared_ptr<const Plan> found(const Fits& fits) {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (fits(*plans_[last_])) return plans_[last_];
      last_ = last_ + 1 < plans_.size() ? last_ + 1 : 0;
    }
    return nullptr;
  }

  std::size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Plan>> plans_;
  std::size_t oldest_ = 0, last_ = 0;
};

}  // namespace riesz::detail
