// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/intervals/global_intervals.h"

#include <algorithm>

namespace riesz {
namespace {

/// Where the elements of one worker's part lie in the whole, in terms of the space's own dims.
struct Held {
  std::vector<std::vector<std::int64_t>> offsets;  ///< by dim but the last: of each local index, in elements
  Intervals last;                                  ///< of the last dim
};

Held held_by(const Space& X, int rank) {
  const Boxes boxes = X.boxes(rank);
  Held held;
  std::int64_t stride = X.numel();
  for (std::size_t dim = 0; dim + 1 < boxes.size(); ++dim) {
    stride /= X.shape()[dim];
    std::vector<std::int64_t>& offsets = held.offsets.emplace_back();
    for (const Interval& interval : boxes[dim]) {
      for (std::int64_t i = interval.begin; i < interval.end; ++i) offsets.push_back(i * stride);
    }
  }
  held.last = boxes.empty() ? Intervals{{0, 1}} : boxes.back();
  return held;
}

/// Where the local line of this number begins in the whole.
std::int64_t begin_of(const Held& held, std::int64_t line) {
  std::int64_t begin = 0;
  for (std::size_t dim = held.offsets.size(); dim-- > 0;) {
    const auto size = static_cast<std::int64_t>(held.offsets[dim].size());
    begin += held.offsets[dim][static_cast<std::size_t>(line % size)];
    line /= size;
  }
  return begin;
}

void add(const Interval& interval, Intervals& result) {
  if (!result.empty() && result.back().end == interval.begin)
    result.back().end = interval.end;
  else
    result.push_back(interval);
}

}  // namespace

Intervals global_intervals(const Space& X, const Interval& local) {
  Intervals result;
  if (local.size() <= 0) return result;
  const Held held = held_by(X, X.partition().rank());
  const std::int64_t width = total(held.last);
  for (std::int64_t at = local.begin; at < local.end;) {
    const std::int64_t line = begin_of(held, at / width);
    std::int64_t from = at / width * width;  // local index of the interval's first element
    for (const Interval& interval : held.last) {
      const std::int64_t a = std::max(at, from);
      const std::int64_t b = std::min(local.end, from + interval.size());
      const std::int64_t shift = line + interval.begin - from;
      if (a < b) add({a + shift, b + shift}, result);
      from += interval.size();
    }
    at = from;
  }
  return result;
}

}  // namespace riesz
