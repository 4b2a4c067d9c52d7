// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/halo.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {

Step halo(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Halo", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<BoxExchange>("Halo", X, Y, axes, halo_sum);
}

Step halo_sum(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("HaloSum", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<BoxExchange>("HaloSum", X, Y, axes, halo);
}

}  // namespace riesz::primitives
