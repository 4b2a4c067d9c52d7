// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/to_space.h"

#include <cstddef>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

bool has_extents_of(const Space& Y, const Space& X) {
  bool same = X.dims() == Y.dims();
  for (std::size_t dim = 0; same && dim < X.shape().size(); ++dim)
    same = Y.shape()[dim] == Space::any || Y.shape()[dim] == X.shape()[dim];
  return same;
}

struct Conversion {
  Space Y;  // as given: of any extents
  Operator map;
};

}  // namespace

Operator map_to_space(const Space& X, const Space& Y) {
  static auto& plans = *new detail::PlanCache<Conversion>;
  const auto made = [&]() -> Conversion {
    RIESZ_CHECK(has_extents_of(Y, X), "to_space: a vector of\n  ", to_string(X),
                "\nhas other dims or extents than\n  ", to_string(Y));
    return {Y, between(X, Y.with_shape(X.shape()))};
  };
  return plans.get([&](const Conversion& each) { return each.map.domain() == X && each.Y == Y; }, made)->map;
}

Vector to_space(const Vector& x, const Space& Y) { return map_to_space(x.space(), Y)(x); }

}  // namespace riesz
