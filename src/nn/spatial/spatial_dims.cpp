// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/spatial_dims.h"

#include <algorithm>
#include <numeric>

#include "riesz/comm/error.h"

namespace riesz::detail {

std::vector<int> spatial_dims(const Space& X) {
  std::vector<int> dims(static_cast<std::size_t>(std::max(0, X.dims() - 2)));
  std::iota(dims.begin(), dims.end(), 2);
  return dims;
}

std::vector<std::int64_t> spatial_extents(const Space& X) {
  return {X.shape().begin() + std::min(2, X.dims()), X.shape().end()};
}

void check_spatial(const std::string& whose, const Space& X) {
  RIESZ_CHECK(X.dims() >= 3 && X.dims() <= 5, whose, ": x lies in ", to_string(X),
              "; it has a batch, channels and 1 to 3 spatial dims");
}

void check_known_channels(const std::string& whose, const Space& X) {
  RIESZ_CHECK(X.dims() >= 3 && X.dims() <= 5 && X.shape()[1] != Space::any, whose, ": x lies in ",
              to_string(X), "; it has a batch, channels of a known extent, and 1 to 3 spatial dims");
}

Space bound(const std::string& whose, const Space& X, const Space& Y,
            const std::vector<std::int64_t>& outputs, std::optional<std::int64_t> channels) {
  RIESZ_CHECK(Y.dims() == X.dims(), whose, ": the result lies in ", to_string(Y), ", which has ", Y.dims(),
              " dims; x has ", X.dims());
  std::vector<std::int64_t> shape{X.shape()[0], channels.value_or(X.shape()[1])};
  shape.insert(shape.end(), outputs.begin(), outputs.end());
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t given = Y.shape()[dim];
    RIESZ_CHECK(given == Space::any || shape[dim] == Space::any || given == shape[dim], whose, ": dim ", dim,
                " of the result has ", shape[dim], " elements, but ", given, " in ", to_string(Y),
                "; x lies in ", to_string(X));
    if (shape[dim] == Space::any) shape[dim] = given;
  }
  return Y.with_shape(shape);
}

Space sharded_as_channels(Space S, int dim, const Space& Y) {
  S = S.unit(dim, Y.unit_of(1));
  for (const Shard& shard : Y.shards(1)) {
    const std::string& axis = Y.partition().axis(shard.axis).name;
    if (S.partition().find(axis) < 0 || S.placement(axis) == Placement::Sharded) continue;
    S = shard.overlaps() ? S.sharded(dim, axis) : S.sharded_like(dim, axis, shard);
  }
  return S;
}

}  // namespace riesz::detail
