// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/pencil.h"

#include <algorithm>
#include <optional>

namespace riesz::detail {
namespace {

using ShardsOfDims = std::vector<std::vector<Shard>>;

ShardsOfDims shards_of(const Space& S) {
  ShardsOfDims all;
  for (int dim = 0; dim < S.dims(); ++dim) all.push_back(S.shards(dim));
  return all;
}

/// A space of this shape whose units and unsharded axes are those of S.
Space laid_out(const Space& S, const std::vector<std::int64_t>& shape, const ShardsOfDims& shards) {
  Space Y(S.partition(), shape);
  for (int dim = 0; dim < std::min(S.dims(), Y.dims()); ++dim) {
    const auto at = static_cast<std::size_t>(dim);
    if (shape[at] % S.unit_of(dim) == 0) Y = Y.unit(dim, S.unit_of(dim));
    for (const Shard& shard : shards[at]) {
      const std::string& axis = S.partition().axis(shard.axis).name;
      const bool fits = shape[at] == S.shape()[at];
      Y = fits ? Y.sharded_like(dim, axis, shard) : Y.sharded(dim, axis);
    }
  }
  for (const Axis& axis : S.partition().axes())
    if (S.placement(axis.name) != Placement::Sharded) Y = Y.placed(axis.name, S.placement(axis.name));
  return Y;
}

std::int64_t workers_of(const Space& S, const std::vector<int>& dims) {
  std::int64_t workers = 1;
  for (const int dim : dims)
    for (const Shard& shard : S.shards(dim)) workers *= S.partition().axis(shard.axis).extent;
  return workers;
}

/// The dim with most units per worker, of the first `candidates` and not among `but`; it has `least`.
std::optional<int> best_dim(const Space& S, const std::vector<int>& but, int candidates, std::int64_t least) {
  std::optional<int> best;
  std::int64_t most = 0, among = 1;
  for (int dim = 0; dim < candidates; ++dim) {
    const auto& shards = S.shards(dim);
    const bool overlaps =
        std::any_of(shards.begin(), shards.end(), [](const Shard& s) { return s.overlaps(); });
    if (overlaps || std::find(but.begin(), but.end(), dim) != but.end()) continue;
    const std::int64_t units = S.shape()[static_cast<std::size_t>(dim)] / S.unit_of(dim);
    const std::int64_t workers = workers_of(S, {dim});
    if (units < least * workers || (best && units * among <= most * workers)) continue;
    best = dim, most = units, among = workers;
  }
  return best;
}

/// The axes that shard `dims` shard `to` instead; nothing: they are Replicated.
Space with_axes_on(const Space& S, const std::vector<int>& dims, std::optional<int> to) {
  ShardsOfDims shards = shards_of(S);
  std::vector<int> axes;
  for (const int dim : dims) {
    for (const Shard& shard : S.shards(dim)) axes.push_back(shard.axis);
    shards[static_cast<std::size_t>(dim)].clear();
  }
  if (!to) return laid_out(S, S.shape(), shards);
  for (const int axis : axes) shards[static_cast<std::size_t>(*to)].push_back({axis, std::nullopt});
  return laid_out(S, S.shape(), shards);
}

}  // namespace

bool is_whole(const Space& S, int dim) {
  const auto& shards = S.shards(dim);
  return std::none_of(shards.begin(), shards.end(), [&](const Shard& s) { return S.counts(s.axis); });
}

Space reshaped_like(const Space& S, const std::vector<std::int64_t>& shape) {
  return laid_out(S, shape, shards_of(S));
}

Space with_whole(const Space& S, const std::vector<int>& dims, int first, int candidates) {
  std::vector<int> sharded;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(sharded),
               [&](int dim) { return !is_whole(S, dim); });
  if (const auto all = best_dim(S, dims, candidates, workers_of(S, sharded)))
    return with_axes_on(S, sharded, all);
  return with_axes_on(S, {first}, best_dim(S, {first}, candidates, 1));
}

}  // namespace riesz::detail
