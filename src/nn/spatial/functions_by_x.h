// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/local/local_function.h"

namespace riesz::detail {

/// A layer's function of x, made once for each space of x. It keeps the last four.
class FunctionsByX {
 public:
  template <typename Make>
  Vector operator()(const Vector& x, const Make& make) {
    const auto made = made_.get([&](const Made& each) { return each.X == x.space(); },
                                [&] {
                                  return Made{x.space(), make(x.space())};
                                });
    return made->f({x});
  }

 private:
  struct Made {
    Space X;
    LocalFunction f;
  };
  PlanCache<Made> made_{4};
};

}  // namespace riesz::detail
