// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A run of global indices of one dim, and where it lies among the local ones of a worker.
struct Segment {
  Interval global;
  std::int64_t local = 0;

  bool operator==(const Segment&) const = default;
};

using Segments = std::vector<Segment>;

/// One after another, in the order held.
Segments segments(const Intervals& held);

// Each takes O(n log n) of the segments that it is given and gives.

/// What of `held` is in none of `taken`, where it lies.
Segments without(const Segments& held, const Intervals& taken);

/// Each index where it comes first.
Segments once(const Segments& held);

/// A box that two workers have in common, in the local indices of each.
struct CommonBox {
  Box in_a;
  Box in_b;
};

/// a ∩ b, the boxes in the order of a's segments, then b's, the first dim the slowest; by dim.
std::vector<CommonBox> common(const std::vector<Segments>& a, const std::vector<Segments>& b);

}  // namespace riesz
