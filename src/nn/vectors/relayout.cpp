// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/relayout.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/thread_cache.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {

Vector relayout(const Vector& x, const Space& Y) {
  thread_local ThreadCache<std::pair<Space, Space>, Operator> kept;
  const Space& X = x.space();
  const Operator& map = kept.of({X, Y}, [&] {
    RIESZ_CHECK(X.dims() == Y.dims(), "from\n  ", to_string(X), "\nto\n  ", to_string(Y),
                "\nwhich has not as many dims");
    return between(X, Y.with_shape(X.shape()));
  });
  return map(x);
}

}  // namespace riesz::detail
