// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// The elements of boxes of a global shape as runs: what is contiguous in the global row-major order. A row
/// is all elements with the same indices in all dims before the last that is cut. Dims that are held whole
/// are one with the dim before them. So a vector that only its first dim shards is one run for each interval.
class GlobalRuns {
 public:
  GlobalRuns(const std::vector<std::int64_t>& shape, const Boxes& boxes) : elements_(volume(boxes)) {
    if (elements_ == 0) return;  // outside a partition boxes have a dim that a shape may lack
    std::size_t last = boxes.size();
    std::int64_t behind = 1;  // elements of the dims behind
    while (last > 1 && boxes[last - 1] == Intervals{{0, shape[last - 1]}}) behind *= shape[--last];
    if (last == 0) {
      of_last_ = {{0, 1}};
      return;
    }
    width_ = shape[last - 1] * behind;
    for (const Interval& run : boxes[last - 1]) of_last_.push_back({run.begin * behind, run.end * behind});
    for (std::size_t dim = 0; dim + 1 < last; ++dim) {
      extents_.push_back(shape[dim]);
      held_.emplace_back();
      for (const Interval& run : boxes[dim])
        for (std::int64_t i = run.begin; i < run.end; ++i) held_.back().push_back(i);
    }
  }

  std::int64_t elements() const { return elements_; }

  /// Calls visit(first global index, count, first local index) for the runs, and the parts of runs, among
  /// local indices `begin` to `end`, in their order.
  template <typename Visit>
  void visit(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    if (begin >= end) return;
    const std::int64_t held = total(of_last_);
    std::int64_t first = begin / held * held;  // local index of the row
    std::vector<std::size_t> at = row_of(begin / held);
    for (; first < end; first += held, count_up(at)) {
      const std::int64_t global = row_number(at) * width_;
      std::int64_t local = first;
      for (const Interval& run : of_last_) {
        const std::int64_t from = std::max(begin, local), to = std::min(end, local + run.size());
        if (from < to) visit(global + run.begin + (from - local), to - from, from);
        local += run.size();
      }
    }
  }

 private:
  std::vector<std::size_t> row_of(std::int64_t number) const {
    std::vector<std::size_t> at(held_.size());
    for (std::size_t dim = held_.size(); dim-- > 0;) {
      const auto extent = static_cast<std::int64_t>(held_[dim].size());
      at[dim] = static_cast<std::size_t>(number % extent);
      number /= extent;
    }
    return at;
  }

  std::int64_t row_number(const std::vector<std::size_t>& at) const {
    std::int64_t row = 0;
    for (std::size_t dim = 0; dim < at.size(); ++dim) row = row * extents_[dim] + held_[dim][at[dim]];
    return row;
  }

  void count_up(std::vector<std::size_t>& at) const {
    for (std::size_t dim = at.size(); dim-- > 0;) {
      if (++at[dim] < held_[dim].size()) return;
      at[dim] = 0;
    }
  }

  std::int64_t elements_, width_ = 1;
  Intervals of_last_;                            // indices in a row that are held
  std::vector<std::int64_t> extents_;            // of the dims before
  std::vector<std::vector<std::int64_t>> held_;  // indices of these that are held
};

}  // namespace riesz::detail
