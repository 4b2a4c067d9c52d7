// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace riesz::detail {

/// The plans that a layer made for the last few spaces. Several threads may call one layer: each gets a plan
/// that nobody changes. A plan that is there is found without a copy of a space.
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
