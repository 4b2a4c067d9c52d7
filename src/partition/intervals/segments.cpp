// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/intervals/segments.h"

#include <algorithm>
#include <map>
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

Segments detail::subtract(const Segments& held, const Intervals& taken) {
  const Intervals gone = united(taken);
  Segments rest;
  for (const Segment& segment : held) {
    auto next = std::partition_point(gone.begin(), gone.end(), [&](const Interval& interval) {
      return interval.end <= segment.global.begin;
    });
    if (next == gone.end() || intersect(segment.global, *next).size() == 0) {
      rest.push_back(segment);
      continue;
    }
    std::int64_t begin = segment.global.begin;
    for (; next != gone.end() && next->begin < segment.global.end; ++next) {
      append(rest, segment, begin, next->begin);
      begin = next->end;
    }
    append(rest, segment, begin, segment.global.end);
  }
  return rest;
}

Segments detail::first_occurrences(const Segments& held) {
  if (held.size() <= 1) return held;
  Segments kept;
  std::map<std::int64_t, std::int64_t> seen;  // begin to end, of intervals that do not meet
  for (const Segment& segment : held) {
    if (segment.global.size() == 0) {
      kept.push_back(segment);
      continue;
    }
    auto next = seen.upper_bound(segment.global.begin);
    if (next != seen.begin() && std::prev(next)->second >= segment.global.begin) --next;
    Interval joined = segment.global;
    std::int64_t begin = segment.global.begin;
    while (next != seen.end() && next->first < segment.global.end) {
      append(kept, segment, begin, next->first);
      begin = std::max(begin, next->second);
      joined = {std::min(joined.begin, next->first), std::max(joined.end, next->second)};
      next = seen.erase(next);
    }
    append(kept, segment, begin, segment.global.end);
    seen.emplace_hint(next, joined.begin, joined.end);
  }
  return kept;
}

namespace {

/// Segments by where they begin, to find those that meet an interval by bisection.
class ByBegin {
 public:
  explicit ByBegin(const Segments& segments) {
    places_.reserve(segments.size());
    for (std::size_t i = 0; i < segments.size(); ++i) places_.push_back({segments[i].global, 0, i});
    const auto before = [](const Place& a, const Place& b) { return a.global.begin < b.global.begin; };
    if (!std::is_sorted(places_.begin(), places_.end(), before))
      std::stable_sort(places_.begin(), places_.end(), before);
    for (std::size_t i = 0; i < places_.size(); ++i)
      places_[i].reach = std::max(places_[i].global.end, i == 0 ? 0 : places_[i - 1].reach);
  }

  /// The numbers, ascending, of those that meet it; and of empty ones inside it.
  void find(const Interval& interval, std::vector<std::size_t>& found) const {
    found.clear();
    auto next = std::partition_point(places_.begin(), places_.end(),
                                     [&](const Place& place) { return place.reach <= interval.begin; });
    for (; next != places_.end() && next->global.begin < interval.end; ++next) {
      if (next->global.end > interval.begin) found.push_back(next->number);
    }
    if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());
  }

 private:
  struct Place {
    Interval global;
    std::int64_t reach;  ///< the last end, of this one and those before
    std::size_t number;
  };
  std::vector<Place> places_;
};

/// What a dim's segments have in common, in the local indices of each.
std::vector<std::pair<Interval, Interval>> common_of(const Segments& a, const Segments& b) {
  constexpr std::size_t kFew = 4;  // are looked at one by one
  std::vector<std::pair<Interval, Interval>> pairs;
  const auto add = [&](const Segment& x, const Segment& y) {
    const Interval both = intersect(x.global, y.global);
    if (both.size() > 0) pairs.emplace_back(local_of(x, both), local_of(y, both));
  };
  if (b.size() <= kFew) {
    for (const Segment& x : a) {
      for (const Segment& y : b) add(x, y);
    }
    return pairs;
  }
  const ByBegin places(b);
  std::vector<std::size_t> found;
  for (const Segment& x : a) {
    places.find(x.global, found);
    for (const std::size_t i : found) add(x, b[i]);
  }
  return pairs;
}

/// `box` with one dim more, of `dims` in all.
Box with(const Box& box, const Interval& interval, std::size_t dims) {
  Box longer;
  longer.reserve(dims);
  longer.insert(longer.end(), box.begin(), box.end());
  longer.push_back(interval);
  return longer;
}

}  // namespace

std::vector<CommonBox> detail::common_boxes(const std::vector<Segments>& a, const std::vector<Segments>& b) {
  std::vector<CommonBox> boxes{{}};
  for (std::size_t dim = 0; dim < a.size() && !boxes.empty(); ++dim) {
    std::vector<CommonBox> longer;
    const auto pairs = common_of(a[dim], b[dim]);
    longer.reserve(boxes.size() * pairs.size());
    for (const CommonBox& box : boxes) {
      for (const auto& [in_a, in_b] : pairs)
        longer.push_back({with(box.in_a, in_a, a.size()), with(box.in_b, in_b, a.size())});
    }
    boxes = std::move(longer);
  }
  return boxes;
}

}  // namespace riesz
