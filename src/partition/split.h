// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// The integers of [begin, end).
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// The common part of a and b; empty, and beginning inside a, where they do not meet.
Interval intersect(const Interval& a, const Interval& b);

/// A box of global indices: an interval per dim.
using Box = std::vector<Interval>;

/// Elements in a box; 1 for a box of no dims.
std::int64_t volume(const Box& box);

/// Which interval of one dim each worker of one axis holds: disjoint, in the workers' order, covering [0, n).
class Split {
 public:
  /// p intervals of whole units of n; the first (n/unit) mod p of them have one unit more. Empty intervals where
  /// p > n/unit: balanced(7, 3) has sizes 3, 2, 2; balanced(6, 4, 2) has 2, 2, 2, 0.
  /// @throws Error unless unit divides n, n ≥ 0, p ≥ 1 and unit ≥ 1.
  static Split balanced(std::int64_t n, int p, std::int64_t unit = 1);

  /// Intervals of the given sizes: sizes({3, 0, 4}) is [0,3) [3,3) [3,7). @throws Error on a negative size.
  static Split sizes(const std::vector<std::int64_t>& sizes);

  int workers() const { return static_cast<int>(intervals_.size()); }
  /// n, what the intervals cover.
  std::int64_t extent() const { return intervals_.empty() ? 0 : intervals_.back().end; }
  const Interval& operator[](int worker) const { return intervals_.at(static_cast<std::size_t>(worker)); }
  bool operator==(const Split&) const = default;

 private:
  std::vector<Interval> intervals_;
};

/// Such as "3+0+4".
std::string to_string(const Split& split);

}  // namespace riesz
