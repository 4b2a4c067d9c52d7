// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/holders.h"

#include <algorithm>
#include <utility>

namespace riesz {
namespace {

/// Do some intervals meet others that are united?
bool meet(const Intervals& some, const Intervals& others) {
  return std::any_of(some.begin(), some.end(), [&](const Interval& interval) {
    const auto next = std::partition_point(
        others.begin(), others.end(), [&](const Interval& other) { return other.end <= interval.begin; });
    return next != others.end() && intersect(interval, *next).size() > 0;
  });
}

struct Search {
  const Space& S;
  Boxes wanted;  // united
  const std::vector<int>& coordinates;
  std::vector<int> at;  // the coordinates chosen so far
  std::vector<int> ranks;

  void axis_without_dim(int axis) {
    if (axis == static_cast<int>(at.size())) {
      ranks.push_back(S.partition().rank_of(at));
      return;
    }
    const auto a = static_cast<std::size_t>(axis);
    if (S.placement(axis) == Placement::Sharded) return axis_without_dim(axis + 1);
    const int extent = S.partition().axes()[a].extent;
    const int first = coordinates[a] == kAll ? 0 : coordinates[a];
    const int last = coordinates[a] == kAll ? extent - 1 : coordinates[a];
    for (at[a] = first; at[a] <= last; ++at[a]) axis_without_dim(axis + 1);
  }

  void dim(int d) {
    if (d == S.dims()) return axis_without_dim(0);
    shard(d, 0, {{0, S.shape()[static_cast<std::size_t>(d)]}});
  }

  /// Goes down the axes that shard a dim, leaving out branches that hold nothing wanted.
  void shard(int d, std::size_t level, const Intervals& outer) {
    const std::vector<Shard>& shards = S.shards(d);
    if (level == shards.size()) return dim(d + 1);
    const auto a = static_cast<std::size_t>(shards[level].axis);
    const Intervals& wanted_here = wanted[static_cast<std::size_t>(d)];
    Interval range{0, S.partition().axes()[a].extent};
    if (coordinates[a] != kAll) {
      range = {coordinates[a], coordinates[a] + 1};
    } else if (!shards[level].split && outer.size() == 1) {
      range = candidates(d, level, outer, {wanted_here.front().begin, wanted_here.back().end});
    }
    for (auto coordinate = static_cast<int>(range.begin); coordinate < range.end; ++coordinate) {
      const Intervals inner = S.piece_of(d, level, outer, coordinate);
      if (!meet(inner, wanted_here)) continue;
      at[a] = coordinate;
      shard(d, level + 1, inner);
    }
  }

  /// The coordinates of an even split whose pieces may meet `part`: the pieces follow each other, so by
  /// bisection.
  Interval candidates(int d, std::size_t level, const Intervals& outer, const Interval& part) const {
    const auto a = static_cast<std::size_t>(S.shards(d)[level].axis);
    const auto first_with = [&](const auto& passes) {
      Interval range{0, S.partition().axes()[a].extent};
      while (range.size() > 0) {
        const std::int64_t middle = range.begin + range.size() / 2;
        const Intervals inner = S.piece_of(d, level, outer, static_cast<int>(middle));
        if (passes(inner.front()))
          range.end = middle;
        else
          range.begin = middle + 1;
      }
      return range.begin;
    };
    return {first_with([&](const Interval& inner) { return inner.end > part.begin; }),
            first_with([&](const Interval& inner) { return inner.begin >= part.end; })};
  }
};

}  // namespace

std::vector<int> holders(const Space& S, const Boxes& wanted, const std::vector<int>& coordinates) {
  if (volume(wanted) == 0) return {};
  Search search{S, wanted, coordinates, std::vector<int>(coordinates.size(), 0), {}};
  for (Intervals& intervals : search.wanted) intervals = united(std::move(intervals));
  search.dim(0);
  std::sort(search.ranks.begin(), search.ranks.end());
  return std::move(search.ranks);
}

}  // namespace riesz
