// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace riesz::detail {

/// The last four plans of a layer, found by their spaces without a copy of one. Threads may share it: a plan
/// never changes, and `get` locks while `make` runs.
template <typename Plan>
class KeptPlans {
 public:
  /// The plan for which fits(plan) is true, or else make(), which replaces the oldest. Where that throws,
  /// nothing is kept.
  template <typename Fits, typename Make>
  std::shared_ptr<const Plan> get(const Fits& fits, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<const Plan>& each : kept_)
      if (each != nullptr && fits(*each)) return each;
    auto made = std::make_shared<const Plan>(make());
    kept_[oldest_] = made;
    oldest_ = (oldest_ + 1) % kMost;
    return made;
  }

 private:
  static constexpr std::size_t kMost = 4;

  std::mutex mutex_;
  std::array<std::shared_ptr<const Plan>, kMost> kept_;
  std::size_t oldest_ = 0;
};

}  // namespace riesz::detail
