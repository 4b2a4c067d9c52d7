// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/shift.h"

#include "riesz/comm/error.h"
#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz {

Space rotated(const Space& X, const std::string& axis, int k) {
  const int a = X.partition().index(axis);
  const int dim = X.dim_of(a);
  RIESZ_CHECK(dim >= 0 && X.shards(dim).size() == 1, "rotated: axis ", axis, " shards no dim alone in ",
              to_string(X), "; owners rotate along such an axis");
  const Shard& shard = X.shards(dim).front();
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  const Split split =
      shard.split ? *shard.split : Split::balanced(n, X.partition().extent(axis), X.unit_of(dim));
  return X.replicated(axis).sharded(dim, axis, split.rotated(k), shard.terms);
}

}  // namespace riesz

namespace riesz::primitives {

Step shift(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Shift", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<BoxExchange>("Shift", X, Y, axes, shift);
}

}  // namespace riesz::primitives
