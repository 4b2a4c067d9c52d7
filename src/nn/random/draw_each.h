// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/comm/without_values.h"
#include "riesz/nn/random/global_runs.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// Draws each element of the boxes of a global shape. For the element of global row-major index i it calls
/// set(local index, value), with lane i mod 4 of the four values of draw(i div 4).
template <typename Draw, typename Set>
void draw_each(const std::vector<std::int64_t>& shape, const Boxes& boxes, const Draw& draw, const Set& set) {
  if (!has_values()) return;
  const GlobalRuns runs(shape, boxes);
  runs.visit(0, runs.elements(), [&](std::int64_t global, std::int64_t count, std::int64_t local) {
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
