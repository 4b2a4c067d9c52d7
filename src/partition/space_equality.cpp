// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// By the same axes, and every worker holds the same of it.
bool Space::lies_like(const Space& other, int dim) const {
  const std::vector<Shard>& mine = shards(dim);
  const std::vector<Shard>& theirs = other.shards(dim);
  if (mine == theirs) return true;
  const auto by_the_same = [](const Shard& a, const Shard& b) {
    return a.axis == b.axis && a.terms == b.terms && a.overlaps() == b.overlaps();
  };
  if (!std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), by_the_same)) return false;
  if (shape()[static_cast<std::size_t>(dim)] == any) return false;
  std::vector<int> axes;
  for (const Shard& shard : mine) axes.push_back(shard.axis);
  const std::vector<int> ranks = partition().fibre(0, axes);
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    const std::vector<int> at = partition().coordinates(rank);
    return held(dim, at) == other.held(dim, at);
  });
}

bool Space::operator==(const Space& other) const {
  if (impl_ == other.impl_) return true;
  if (shape() != other.shape() || partition() != other.partition()) return false;
  for (int axis = 0; axis < static_cast<int>(partition().axes().size()); ++axis) {
    if (placement(axis) != other.placement(axis)) return false;
  }
  for (int dim = 0; dim < dims(); ++dim) {
    if (unit_of(dim) != other.unit_of(dim) || !lies_like(other, dim)) return false;
  }
  return true;
}

bool matches(const Space& X, const Space& pattern) {
  if (X.dims() != pattern.dims()) return false;
  std::vector<std::int64_t> shape = pattern.shape();
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == Space::any) shape[dim] = X.shape()[dim];
  }
  return X == pattern.with_shape(shape);
}

}  // namespace riesz
