// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/windowed_plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/plan.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

/// X with the extents of y on the windowed dims, cut evenly there: how the axes lie is what the rule asks.
Space as_outputs(const Space& X, const Space& Y, const std::vector<WindowedDim>& dims) {
  std::vector<std::int64_t> shape = X.shape();
  const auto windowed = [&](int dim) {
    return std::any_of(dims.begin(), dims.end(), [dim](const WindowedDim& each) { return each.x == dim; });
  };
  for (const WindowedDim& dim : dims)
    shape[static_cast<std::size_t>(dim.x)] = Y.shape()[static_cast<std::size_t>(dim.y)];
  Space Z(X.partition(), shape);
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (!windowed(dim)) Z = Z.unit(dim, X.unit_of(dim));
    for (const Shard& shard : X.shards(dim)) {
      const std::string& axis = X.partition().axis(shard.axis).name;
      Z = windowed(dim) ? Z.sharded(dim, axis) : Z.sharded_like(dim, axis, shard);
    }
  }
  for (const Axis& axis : X.partition().axes()) {
    if (X.placement(axis.name) != Placement::Sharded) Z = Z.placed(axis.name, X.placement(axis.name));
  }
  return Z;
}

/// The axes in the order in which they may cut a windowed dim: those of y, of x, and all others.
std::vector<std::string> in_order(const WindowedDim& dim, const Space& X, const Space& Y,
                                  const Parallel& parallel) {
  std::vector<std::string> order;
  const auto add = [&order](const std::string& axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  };
  for (const Shard& shard : Y.shards(dim.y)) add(Y.partition().axis(shard.axis).name);
  for (const Shard& shard : X.shards(dim.x)) add(X.partition().axis(shard.axis).name);
  for (const auto& [axis, index] : parallel) add(axis);
  return order;
}

/// The rule's, but for one axis alone on each windowed dim: a split that overlaps shards its dim alone.
Parallel parallel_of(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                     const std::vector<WindowedDim>& dims) {
  Parallel parallel = parallel_by_rule(indices, X, W, Y);
  for (const WindowedDim& dim : dims) {
    bool taken = false;
    for (const std::string& axis : in_order(dim, X, Y, parallel)) {
      const auto at = parallel.find(axis);
      const bool cuts = at != parallel.end() && at->second == indices[2][static_cast<std::size_t>(dim.y)] &&
                        W.partition().extent(axis) > 1;
      if (cuts && std::exchange(taken, true)) at->second = '-';
    }
  }
  return parallel;
}

/// The one axis of more than one worker that cuts a dim.
std::optional<Shard> shard_of(const Space& S, int dim) {
  for (const Shard& shard : S.shards(dim))
    if (S.partition().axis(shard.axis).extent > 1) return shard;
  return std::nullopt;
}

bool each_once(std::int64_t n, const std::vector<Intervals>& needs) {
  Intervals all;
  std::int64_t sum = 0;
  for (const Intervals& need : needs) {
    all.insert(all.end(), need.begin(), need.end());
    sum += total(need);
  }
  return sum == n && total(united(all)) == n;
}

/// Z, cut along a windowed dim as what the workers' outputs in `outputs` need of it.
Space with_needs(const Space& Z, const Space& X, const Space& outputs, const WindowedDim& dim) {
  const std::optional<Shard> shard = shard_of(outputs, dim.y);
  if (!shard) return Z;
  const Partition& grid = outputs.partition();
  const Axis& axis = grid.axis(shard->axis);
  std::vector<Intervals> needs;
  for (int at = 0; at < axis.extent; ++at) {
    std::vector<int> coordinates(grid.axes().size(), 0);
    coordinates[static_cast<std::size_t>(shard->axis)] = at;
    needs.push_back(needs_of(dim.reading, outputs.held(dim.y, coordinates)));
  }
  const int of_x = X.partition().find(axis.name);
  const std::vector<Shard>& shards = X.shards(dim.x);
  const bool lies_there = X.partition() == grid && shards.size() == 1 && shards.front().axis == of_x;
  const bool kept = lies_there && !shards.front().overlaps();
  const Space owned = kept ? Z.sharded_like(dim.x, axis.name, shards.front()) : Z.sharded(dim.x, axis.name);
  const Split split = split_of(owned, dim.x);
  bool own = true;
  for (int at = 0; at < axis.extent; ++at)
    own = own && united(split.held(at)) == needs[static_cast<std::size_t>(at)];
  if (own) return owned;
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim.x)];
  if (each_once(n, needs)) return Z.sharded(dim.x, axis.name, Split::pieces(n, needs));
  return covering(owned, dim.x, needs);
}

/// The space in which x is computed with: that of x as outputs lie, and needs along windowed dims.
Space computing_x(const Space& X, const Space& as_outputs, const Space& outputs,
                  const std::vector<WindowedDim>& dims) {
  const Partition& grid = as_outputs.partition();
  Space Z(grid, X.shape());
  for (const Axis& axis : grid.axes()) {
    if (as_outputs.placement(axis.name) != Placement::Sharded)
      Z = Z.placed(axis.name, as_outputs.placement(axis.name));
  }
  for (int dim = 0; dim < X.dims(); ++dim) {
    const auto windowed = std::find_if(dims.begin(), dims.end(), [dim](const auto& d) { return d.x == dim; });
    Z = Z.unit(dim, X.unit_of(dim));
    if (windowed != dims.end()) {
      Z = with_needs(Z, X, outputs, *windowed);
      continue;
    }
    for (const Shard& shard : as_outputs.shards(dim))
      Z = Z.sharded_like(dim, grid.axis(shard.axis).name, shard);
  }
  return Z;
}

std::vector<std::vector<Slab>> slabs_here(const Space& Zx, const Space& Zy,
                                          const std::vector<WindowedDim>& dims) {
  std::vector<std::vector<Slab>> slabs;
  if (!Zy.partition().active()) return slabs;
  const std::vector<int> at = Zy.partition().coordinates(Zy.partition().rank());
  for (const WindowedDim& dim : dims)
    slabs.push_back(local_slabs(dim.reading, Zx.held(dim.x, at), Zy.held(dim.y, at)));
  return slabs;
}

}  // namespace

WindowedPlan plan_windowed(const std::string& whose, const Indices& indices, const Space& X, const Space& W,
                           const Space& Y, const std::vector<WindowedDim>& dims) {
  check_dims(whose, indices[0], X), check_dims(whose, indices[1], W), check_dims(whose, indices[2], Y);
  for (const WindowedDim& dim : dims) {
    const std::int64_t m = Y.shape()[static_cast<std::size_t>(dim.y)];
    RIESZ_CHECK(m == dim.reading.outputs, whose, ": dim ", dim.y, " of the result has ", m,
                " elements, but a window over dim ", dim.x, " of x, of ", dim.reading.inputs, ", gives ",
                dim.reading.outputs, "; the result is to lie in ", to_string(Y));
    RIESZ_CHECK(X.unit_of(dim.x) == 1 && Y.unit_of(dim.y) == 1, whose, ": a windowed dim has units of ",
                X.unit_of(dim.x), " in ", to_string(X), " and of ", Y.unit_of(dim.y), " in ", to_string(Y),
                "; a window needs units of 1");
  }
  const Space lying = as_outputs(X, Y, dims);
  const Parallel parallel = parallel_of(indices, lying, W, Y, dims);
  const std::array<Operator, 3> reads = reads_of(indices, lying, W, Y, parallel);
  const Space Zy = dual(reads[2].range());
  const Space Zx = computing_x(X, reads[0].range(), Zy, dims);
  // as the adjoint of the write, whose steps may come in another order than a read's
  const Operator read_y = adjoint(between(Zy, Y));
  return {parallel, between(X, Zx), reads[1], read_y, dims, slabs_here(Zx, Zy, dims)};
}

}  // namespace riesz::detail
