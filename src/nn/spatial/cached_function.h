// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/local/local_function.h"

namespace riesz::detail {

/// A layer's function of x, which is made once for each space of x. The last four are kept. The function must
/// follow from x's space, and from what never changes in the layer.
class CachedFunction {
 public:
  template <typename Make>
  Vector operator()(const Vector& x, const Make& make) {
    const auto fits = [&](const Cached& each) { return each.X == x.space(); };
    return cache_.get(fits, [&] { return Cached{x.space(), make(x.space())}; })->f({x});
  }

 private:
  struct Cached {
    Space X;
    LocalFunction f;
  };
  PlanCache<Cached> cache_{4};
};

}  // namespace riesz::detail
