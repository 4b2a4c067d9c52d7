// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/digest.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace riesz {
namespace {

/// What a worker would hold of a dim without given splits.
Intervals balanced_held(const Space& space, int dim, const std::vector<int>& coordinates) {
  Intervals held{{0, space.shape()[static_cast<std::size_t>(dim)]}};
  for (const Shard& shard : space.shards(dim)) {
    const int extent = space.partition().axis(shard.axis).extent;
    const int at = coordinates[static_cast<std::size_t>(shard.axis)];
    held = within(held, {balanced_interval(total(held), extent, space.unit_of(dim), at)});
  }
  return held;
}

void mix_intervals(DigestBuilder& digest, const Intervals& held) {
  digest.mix(held.size());
  for (const Interval& interval : held) {
    digest.mix(static_cast<std::uint64_t>(interval.begin)).mix(static_cast<std::uint64_t>(interval.end));
  }
}

/// As a given split is written; only where the extent is not known.
void mix_written(DigestBuilder& digest, const Shard& shard) {
  digest.mix(shard.zigzag ? 1 : 0).mix(shard.split ? 1 : 0);
  for (int worker = 0; shard.split && worker < shard.split->workers(); ++worker)
    mix_intervals(digest, shard.split->held(worker));
}

/// What each worker holds of a dim, unless all hold the balanced pieces: these follow from the rest.
void mix_held(DigestBuilder& digest, const Space& space, int dim) {
  DigestBuilder given;
  bool balanced = true;
  std::vector<int> axes;
  for (const Shard& shard : space.shards(dim)) axes.push_back(shard.axis);
  for (const int rank : space.partition().fibre(0, axes)) {
    const std::vector<int> at = space.partition().coordinates(rank);
    const Intervals held = space.held(dim, at);
    balanced = balanced && held == balanced_held(space, dim, at);
    mix_intervals(given, held);
  }
  if (!balanced) digest.mix(given.value());
}

void mix_dim(DigestBuilder& digest, const Space& space, int dim) {
  const std::vector<Shard>& shards = space.shards(dim);
  const std::int64_t extent = space.shape()[static_cast<std::size_t>(dim)];
  digest.mix(static_cast<std::uint64_t>(extent)).mix(static_cast<std::uint64_t>(space.unit_of(dim)));
  for (const Shard& shard : shards) {
    digest.mix(static_cast<std::uint64_t>(shard.axis))
        .mix((shard.terms ? 1 : 0) + (shard.overlaps() ? 2 : 0));
    if (extent == Space::any) mix_written(digest, shard);
  }
  const auto given = [](const Shard& shard) { return shard.split.has_value(); };
  if (extent != Space::any && std::any_of(shards.begin(), shards.end(), given)) mix_held(digest, space, dim);
}

}  // namespace

void mix(DigestBuilder& digest, const Space& space) {
  for (int dim = 0; dim < space.dims(); ++dim) mix_dim(digest, space, dim);
  const int axes = static_cast<int>(space.partition().axes().size());
  for (int axis = 0; axis < axes; ++axis) digest.mix(static_cast<std::uint64_t>(space.placement(axis)));
}

}  // namespace riesz
