// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_to_all.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {

Step all_to_all(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("AllToAll", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<BoxExchange>("AllToAll", X, Y, axes, all_to_all);
}

}  // namespace riesz::primitives
