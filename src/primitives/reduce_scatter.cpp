// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/reduce_scatter.h"

#include "riesz/primitives/all_gather.h"
#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {
namespace {

class ReduceScatter final : public BoxExchange {
 public:
  ReduceScatter(const Space& X, const Space& Y, const std::vector<int>& axes)
      : BoxExchange("ReduceScatter", X, Y, axes, Combine::add) {}

  Step adjoint() const override {
    return all_gather(dual(range()), dual(domain()), axes());
  }
};

}  // namespace

Step reduce_scatter(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("ReduceScatter", X, Y, axes, {Placement::Partial}, {Placement::Sharded});
  return std::make_shared<ReduceScatter>(X, Y, axes);
}

}  // namespace riesz::primitives
