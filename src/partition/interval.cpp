// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/interval.h"

#include <algorithm>

namespace riesz {

std::string to_string(const Interval& interval) {
  return "[" + std::to_string(interval.begin) + "," + std::to_string(interval.end) + ")";
}

Interval intersect(const Interval& a, const Interval& b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::clamp(b.end, begin, std::max(begin, a.end))};
}

std::int64_t total(const Intervals& intervals) {
  std::int64_t elements = 0;
  for (const Interval& interval : intervals) elements += interval.size();
  return elements;
}

Intervals united(Intervals intervals) {
  std::erase_if(intervals, [](const Interval& interval) { return interval.size() <= 0; });
  const auto before = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), before))
    std::sort(intervals.begin(), intervals.end(), before);
  std::size_t count = 0;
  for (const Interval& interval : intervals) {
    if (count > 0 && interval.begin <= intervals[count - 1].end)
      intervals[count - 1].end = std::max(intervals[count - 1].end, interval.end);
    else
      intervals[count++] = interval;
  }
  intervals.resize(count);
  return intervals;
}

Intervals within(const Intervals& held, const Intervals& part) {
  std::vector<std::int64_t> ends;  // of the local indices of each; of one there is nothing to look up
  for (std::size_t i = 0; held.size() > 1 && i < held.size(); ++i)
    ends.push_back(held[i].size() + (i == 0 ? 0 : ends.back()));
  Intervals found;
  for (const Interval& wanted : part) {
    auto i =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), wanted.begin) - ends.begin());
    std::int64_t at = i == 0 ? 0 : ends[i - 1];
    for (; i < held.size() && at < wanted.end; at += held[i++].size()) {
      const Interval both = intersect({at, at + held[i].size()}, wanted);
      if (both.size() == 0) continue;
      const std::int64_t begin = held[i].begin + both.begin - at;
      if (!found.empty() && found.back().end == begin)
        found.back().end += both.size();
      else
        found.push_back({begin, begin + both.size()});
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
