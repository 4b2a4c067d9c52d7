// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
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

/// What a worker holds of one dim, in the order in which it holds it: its local indices 0, 1, … run through
/// the intervals one after another.
using Intervals = std::vector<Interval>;

/// Σ sizes.
std::int64_t total(const Intervals& intervals);

/// The same indices in ascending intervals that do not touch, none of them empty.
Intervals united(Intervals intervals);

/// The global intervals of the local indices `part` of one who holds `held`: nesting of splits. Cost:
/// O(held + part · log held) and what is found.
Intervals within(const Intervals& held, const Intervals& part);

/// A box of global indices: an interval per dim.
using Box = std::vector<Interval>;

/// Elements in a box; 1 for a box of no dims.
std::int64_t volume(const Box& box);

/// What a worker holds of a global shape: the product, over the dims, of its intervals.
using Boxes = std::vector<Intervals>;

/// Elements in all of them.
std::int64_t volume(const Boxes& boxes);

}  // namespace riesz
