// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// An interval: the integers of [begin, end).
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// Such as "[0,4)".
std::string to_string(const Interval& interval);

/// The intersection of a and b; if they do not meet, an empty interval that begins in a or at its end.
Interval intersect(const Interval& a, const Interval& b);

/// A list of intervals: what a worker holds of one dim, in its local order. Its local indices 0, 1, … run
/// through the intervals one after another.
using Intervals = std::vector<Interval>;

/// The sum of their sizes.
std::int64_t total(const Intervals& intervals);

/// The same indices, each once, as ascending intervals that do not touch; none is empty.
Intervals united(Intervals intervals);

/// The global intervals of the local indices `part` of a worker that holds `held`. So a second axis cuts the
/// piece that the first one has given. Cost: O(held + part · log held), and the result's size.
Intervals within(const Intervals& held, const Intervals& part);

/// A box: an interval per dim, of global indices unless it says local.
using Box = std::vector<Interval>;

/// Elements in a box; 1 for a box of no dims.
std::int64_t volume(const Box& box);

/// Boxes of global indices: a list of intervals per dim; the boxes are their products.
using Boxes = std::vector<Intervals>;

/// Elements in all boxes.
std::int64_t volume(const Boxes& boxes);

}  // namespace riesz
