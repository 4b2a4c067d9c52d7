// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_to_all.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {
namespace {

class AllToAll final : public BoxExchange {
 public:
  AllToAll(const Space& X, const Space& Y, const std::vector<int>& axes)
      : BoxExchange("AllToAll", X, Y, axes, Combine::place) {}

  Step adjoint() const override {
    return all_to_all(dual(range()), dual(domain()), axes());
  }
};

}  // namespace

Step all_to_all(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("AllToAll", X, Y, axes, {Placement::Sharded}, {Placement::Sharded});
  return std::make_shared<AllToAll>(X, Y, axes);
}

}  // namespace riesz::primitives
