// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/repartition.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {

Step repartition(const Space& X, const Space& Y, const std::vector<int>& axes) {
  const std::vector<Placement> any{Placement::Sharded, Placement::Replicated, Placement::Copied,
                                   Placement::Partial};
  check_ends("Repartition", X, Y, axes, any, any);
  return std::make_shared<BoxExchange>("Repartition", X, Y, axes, repartition);
}

}  // namespace riesz::primitives
