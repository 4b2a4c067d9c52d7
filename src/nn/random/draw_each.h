// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/comm/without_values.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// The global indices that are held, in local order.
inline std::vector<std::int64_t> held_in_order(const Intervals& held) {
  std::vector<std::int64_t> all;
  for (const Interval& interval : held) {
    for (std::int64_t i = interval.begin; i < interval.end; ++i) all.push_back(i);
  }
  return all;
}

/// Calls visit(first global index, count, first local index) for each run of the boxes that is contiguous in
/// the global row-major order, in local order.
template <typename Visit>
void for_each_run(const std::vector<std::int64_t>& shape, const Boxes& boxes, const Visit& visit) {
  const std::int64_t elements = volume(boxes);
  if (elements == 0) return;
  if (boxes.empty()) return visit(0, 1, 0);
  const std::size_t last = boxes.size() - 1;
  std::vector<std::vector<std::int64_t>> rows;  // by dim but the last
  for (std::size_t dim = 0; dim < last; ++dim) rows.push_back(held_in_order(boxes[dim]));
  std::vector<std::size_t> at(last, 0);
  for (std::int64_t local = 0; local < elements;) {
    std::int64_t row = 0;
    for (std::size_t dim = 0; dim < last; ++dim) row = row * shape[dim] + rows[dim][at[dim]];
    for (const Interval& run : boxes[last]) {
      visit(row * shape[last] + run.begin, run.size(), local);
      local += run.size();
    }
    for (std::size_t dim = last; dim-- > 0;) {  // the next row: count up all dims but the last
      if (++at[dim] < rows[dim].size()) break;
      at[dim] = 0;
    }
  }
}

/// Draws each element of the boxes of a global shape. For the element of global row-major index i it calls
/// set(local index, value), with lane i mod 4 of the four values of draw(i div 4).
template <typename Draw, typename Set>
void draw_each(const std::vector<std::int64_t>& shape, const Boxes& boxes, const Draw& draw, const Set& set) {
  if (!has_values()) return;
  for_each_run(shape, boxes, [&](std::int64_t global, std::int64_t count, std::int64_t local) {
    std::int64_t i = 0;
    while (i < count) {
      const auto block = draw(static_cast<std::uint64_t>(global + i) / 4);
      for (auto lane = static_cast<std::size_t>((global + i) % 4); lane < 4 && i < count; ++lane, ++i) {
        set(local + i, block[lane]);
      }
    }
  });
}

/// The boxes of X on this worker; none outside the partition.
inline Boxes boxes_here(const Space& X) {
  return X.partition().active() ? X.boxes(X.partition().rank()) : Boxes{Intervals{}};
}

}  // namespace riesz::detail
