// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/local/local_function.h"

namespace riesz::detail {

/// The functions of a layer that were made last, by the space of x.
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
