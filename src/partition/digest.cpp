// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/digest.h"

#include <cstdint>

namespace riesz {
namespace {

void mix_split(DigestBuilder& digest, const Split& split) {
  for (int worker = 0; worker < split.workers(); ++worker) {
    for (const Interval& interval : split.held(worker)) {
      digest.mix(static_cast<std::uint64_t>(interval.begin)).mix(static_cast<std::uint64_t>(interval.end));
    }
    digest.mix(static_cast<std::uint64_t>(worker));
  }
}

}  // namespace

void mix(DigestBuilder& digest, const Space& space) {
  for (int dim = 0; dim < space.dims(); ++dim) {
    digest.mix(static_cast<std::uint64_t>(space.shape()[static_cast<std::size_t>(dim)]));
    digest.mix(static_cast<std::uint64_t>(space.unit_of(dim)));
    for (const Shard& shard : space.shards(dim)) {
      digest.mix(static_cast<std::uint64_t>(shard.axis)).mix(shard.terms ? 1 : 0);
      if (shard.split) mix_split(digest, *shard.split);
    }
  }
  const int axes = static_cast<int>(space.partition().axes().size());
  for (int axis = 0; axis < axes; ++axis) digest.mix(static_cast<std::uint64_t>(space.placement(axis)));
}

}  // namespace riesz
