// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/reduce_scatter.h"

#include "riesz/primitives/all_gather.h"
#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {

Step reduce_scatter(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("ReduceScatter", X, Y, axes, {Placement::Partial}, {Placement::Sharded});
  return std::make_shared<BoxExchange>("ReduceScatter", X, Y, axes, all_gather);
}

}  // namespace riesz::primitives
