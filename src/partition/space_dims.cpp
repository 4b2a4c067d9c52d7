// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

constexpr int kNone = -1;

const Axis& axis_of(const Space& S, int a) { return S.partition().axis(a); }

/// Dim i of the result is dim from[i] of S, or, for kNone, the one that is already there.
Space laid_out_as(const Space& S, const std::vector<int>& from, Space X) {
  for (std::size_t to = 0; to < from.size(); ++to) {
    if (from[to] == kNone) continue;
    const int dim = static_cast<int>(to);
    X = X.unit(dim, S.unit_of(from[to]));
    for (const Shard& shard : S.shards(from[to])) {
      const std::string& axis = axis_of(S, shard.axis).name;
      X = X.sharded_like(dim, axis, shard);
    }
  }
  for (int a = 0; a < static_cast<int>(S.partition().axes().size()); ++a) {
    const Placement placement = S.placement(a);
    const bool stays = placement == Placement::Copied || placement == Placement::Partial;
    if (stays) X = X.placed(axis_of(S, a).name, placement);
  }
  return X;
}

}  // namespace

Space select_dims(const Space& S, const std::vector<int>& dims) {
  std::vector<std::int64_t> shape;
  for (const int dim : dims) shape.push_back(S.shape().at(static_cast<std::size_t>(dim)));
  return laid_out_as(S, dims, Space(S.partition(), shape));
}

Space insert_dim(const Space& S, int position, std::int64_t n, std::int64_t unit) {
  std::vector<std::int64_t> shape = S.shape();
  shape.insert(shape.begin() + position, n);
  std::vector<int> from;
  for (int dim = 0; dim < S.dims(); ++dim) from.push_back(dim);
  from.insert(from.begin() + position, kNone);
  return laid_out_as(S, from, Space(S.partition(), shape).unit(position, unit));
}

Split split_of(const Space& S, int dim) {
  const Shard& shard = S.shards(dim).front();
  if (shard.split) return *shard.split;
  return Split::balanced(S.shape()[static_cast<std::size_t>(dim)], axis_of(S, shard.axis).extent,
                         S.unit_of(dim));
}

std::vector<std::string> sharding_axes(const Space& S, int dim) {
  std::vector<std::string> names;
  for (const Shard& shard : S.shards(dim)) {
    if (axis_of(S, shard.axis).extent > 1) names.push_back(axis_of(S, shard.axis).name);
  }
  return names;
}

}  // namespace riesz
