// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A segment: an interval of global indices of one dim, and the local index where a worker holds it.
struct Segment {
  Interval global;
  std::int64_t local = 0;

  bool operator==(const Segment&) const = default;
};

using Segments = std::vector<Segment>;

/// The segments of a worker that holds these intervals one after another.
Segments segments(const Intervals& held);

namespace detail {

// Each takes O(n log n), where n counts the segments given and returned.

/// The part of `held` that is in none of `taken`, at its local index.
Segments subtract(const Segments& held, const Intervals& taken);

/// The segments of `held` with each index once, where it occurs first.
Segments first_occurrences(const Segments& held);

}  // namespace detail

/// A box that two workers both hold, in the local indices of each.
struct CommonBox {
  Box in_a;
  Box in_b;
};

namespace detail {

/// The intersection a ∩ b, both given by dim. The boxes are in the order of a's segments, then b's; the first
/// dim is the slowest.
std::vector<CommonBox> common_boxes(const std::vector<Segments>& a, const std::vector<Segments>& b);

}  // namespace detail
}  // namespace riesz
