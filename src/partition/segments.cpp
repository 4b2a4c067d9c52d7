// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/segments.h"

#include <utility>

namespace riesz {
namespace {

void append(Segments& kept, const Segment& segment, std::int64_t begin, std::int64_t end) {
  if (begin < end) kept.push_back({{begin, end}, segment.local + begin - segment.global.begin});
}

Interval local_of(const Segment& segment, const Interval& part) {
  const std::int64_t begin = segment.local + part.begin - segment.global.begin;
  return {begin, begin + part.size()};
}

}  // namespace

Segments segments(const Intervals& held) {
  Segments list;
  std::int64_t at = 0;
  for (const Interval& interval : held) {
    list.push_back({interval, at});
    at += interval.size();
  }
  return list;
}

Segments without(const Segments& held, const Intervals& taken) {
  Segments rest = held;
  for (const Interval& interval : taken) {
    Segments next;
    for (const Segment& segment : rest) {
      const Interval both = intersect(segment.global, interval);
      if (both.size() == 0) {
        next.push_back(segment);
        continue;
      }
      append(next, segment, segment.global.begin, both.begin);
      append(next, segment, both.end, segment.global.end);
    }
    rest = std::move(next);
  }
  return rest;
}

Segments once(const Segments& held) {
  Segments kept;
  Intervals seen;
  for (const Segment& segment : held) {
    for (const Segment& fresh : without({segment}, seen)) kept.push_back(fresh);
    seen.push_back(segment.global);
  }
  return kept;
}

std::vector<CommonBox> common(const std::vector<Segments>& a, const std::vector<Segments>& b) {
  std::vector<CommonBox> boxes{{}};
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    std::vector<CommonBox> longer;
    for (const CommonBox& box : boxes) {
      for (const Segment& x : a[dim]) {
        for (const Segment& y : b[dim]) {
          const Interval both = intersect(x.global, y.global);
          if (both.size() == 0) continue;
          longer.push_back(box);
          longer.back().in_a.push_back(local_of(x, both));
          longer.back().in_b.push_back(local_of(y, both));
        }
      }
    }
    boxes = std::move(longer);
  }
  return boxes;
}

}  // namespace riesz
