// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/to_space.h"

#include <cstddef>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/thread_cache.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

bool has_extents_of(const Space& Y, const Space& X) {
  bool same = X.dims() == Y.dims();
  for (std::size_t dim = 0; same && dim < X.shape().size(); ++dim)
    same = Y.shape()[dim] == Space::any || Y.shape()[dim] == X.shape()[dim];
  return same;
}

}  // namespace

Operator map_to_space(const Space& X, const Space& Y) {
  thread_local detail::ThreadCache<std::pair<Space, Space>, Operator> kept;
  return kept.of({X, Y}, [&] {
    RIESZ_CHECK(has_extents_of(Y, X), "to_space: a vector of\n  ", to_string(X),
                "\nhas other dims or extents than\n  ", to_string(Y));
    return between(X, Y.with_shape(X.shape()));
  });
}

Vector to_space(const Vector& x, const Space& Y) { return map_to_space(x.space(), Y)(x); }

}  // namespace riesz
