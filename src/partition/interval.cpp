// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/interval.h"

#include <algorithm>

namespace riesz {

Interval intersect(const Interval& a, const Interval& b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::clamp(b.end, begin, std::max(begin, a.end))};
}

std::int64_t total(const Intervals& intervals) {
  std::int64_t elements = 0;
  for (const Interval& interval : intervals) elements += interval.size();
  return elements;
}

Intervals within(const Intervals& held, const Intervals& part) {
  Intervals found;
  for (const Interval& wanted : part) {
    std::int64_t at = 0;
    for (const Interval& interval : held) {
      const Interval both = intersect({at, at + interval.size()}, wanted);
      const std::int64_t begin = interval.begin + both.begin - at;
      const bool continues = !found.empty() && found.back().end == begin;
      if (both.size() > 0 && continues) found.back().end += both.size();
      if (both.size() > 0 && !continues) found.push_back({begin, begin + both.size()});
      at += interval.size();
    }
  }
  if (found.empty() && !part.empty() && held.size() == 1) {
    const std::int64_t begin = held.front().begin + part.front().begin;  // an empty piece keeps its place
    found.push_back({begin, begin});
  }
  return found;
}

std::int64_t volume(const Box& box) {
  std::int64_t elements = 1;
  for (const Interval& interval : box) elements *= interval.size();
  return elements;
}

std::int64_t volume(const Boxes& boxes) {
  std::int64_t elements = 1;
  for (const Intervals& intervals : boxes) elements *= total(intervals);
  return elements;
}

}  // namespace riesz
