// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Who holds what of a space.
#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/partition/space.h"

namespace riesz {
namespace {

/// What a worker at `at` of p holds of what `outer` holds.
Intervals piece(const Intervals& outer, const Shard& shard, int p, int at, std::int64_t unit) {
  if (!shard.split) return within(outer, {balanced_interval(total(outer), p, unit, at)});
  RIESZ_CHECK(shard.split->extent() == total(outer), "Space: the split ", to_string(*shard.split), " has ",
              shard.split->extent(), " elements where ", total(outer),
              " are to be split; give sizes that sum to it");
  return within(outer, shard.split->held(at));
}

/// Does each interval begin where the one before ends?
bool in_order(const Intervals& intervals) {
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    if (intervals[i].begin != intervals[i - 1].end) return false;
  }
  return true;
}

}  // namespace

Intervals Space::piece_of(int dim, std::size_t level, const Intervals& outer, int coordinate) const {
  const Shard& shard = shards(dim)[level];
  const int extent = partition().axis(shard.axis).extent;
  return piece(outer, shard, extent, coordinate, unit_of(dim));
}

Intervals Space::held(int dim, const std::vector<int>& coordinates) const {
  Intervals intervals{{0, shape()[static_cast<std::size_t>(dim)]}};
  for (std::size_t level = 0; level < shards(dim).size(); ++level) {
    const auto a = static_cast<std::size_t>(shards(dim)[level].axis);
    intervals = piece_of(dim, level, intervals, coordinates[a]);
  }
  return intervals;
}

Boxes Space::boxes(int rank) const {
  RIESZ_CHECK(concrete(), "Space::boxes: ", riesz::to_string(*this), " has a dim of any extent");
  const std::vector<int> at = partition().coordinates(rank);
  Boxes boxes;
  for (int dim = 0; dim < dims(); ++dim) boxes.push_back(held(dim, at));
  return boxes;
}

Box Space::box(int rank) const {
  Box box;
  for (const Intervals& intervals : boxes(rank)) {
    RIESZ_CHECK(intervals.size() == 1, "Space::box: a worker of ", riesz::to_string(*this),
                " holds several intervals of a dim, or none; ask for boxes(rank)");
    box.push_back(intervals.front());
  }
  return box;
}

bool Space::counts(int axis) const {
  if (partition().axis(axis).extent > 1) return true;
  const int dim = dim_of(axis);
  if (dim < 0) return false;
  const auto shard = std::find_if(shards(dim).begin(), shards(dim).end(),
                                  [axis](const Shard& each) { return each.axis == axis; });
  // One worker holds all, but perhaps in an order of its own.
  return shard->overlaps() || (shard->split && !in_order(shard->split->held(0)));
}

bool Space::copies(int dim) const {
  return !shards(dim).empty() && shards(dim).front().overlaps() && !shards(dim).front().terms;
}

bool Space::terms(int dim) const {
  return !shards(dim).empty() && shards(dim).front().overlaps() && shards(dim).front().terms;
}

std::vector<std::int64_t> Space::local_shape(int rank) const {
  std::vector<std::int64_t> sizes;
  for (const Intervals& intervals : boxes(rank)) sizes.push_back(total(intervals));
  return sizes;
}

int Space::leader(int rank, std::initializer_list<Placement> placements) const {
  std::vector<int> at = partition().coordinates(rank);
  for (std::size_t a = 0; a < at.size(); ++a) {
    if (std::find(placements.begin(), placements.end(), placement(static_cast<int>(a))) != placements.end())
      at[a] = 0;
  }
  return partition().rank_of(at);
}

}  // namespace riesz
