// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/repartition.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {
namespace {

class Repartition final : public BoxExchange {
 public:
  Repartition(const Space& X, const Space& Y, const std::vector<int>& axes)
      : BoxExchange("Repartition", X, Y, axes, Combine::place) {}

  Step adjoint() const override {
    return repartition(dual(range()), dual(domain()), axes());
  }
};

}  // namespace

Step repartition(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Repartition", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<Repartition>(X, Y, axes);
}

}  // namespace riesz::primitives
