// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/broadcast.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/lift.h"
#include "riesz/primitives/sum_reduce.h"

namespace riesz::primitives {
namespace {

class Broadcast final : public BoxExchange {
 public:
  Broadcast(const Space& X, const Space& Y)
      : BoxExchange("Broadcast", X, Y, new_axes(X.partition(), Y.partition()), Combine::place) {}

  Step adjoint() const override { return sum_reduce(dual(domain()), range().partition()); }

 protected:
  std::vector<int> senders(int rank) const override {
    return {project(domain().partition(), range().partition(), rank)};
  }
  std::vector<int> receivers(int rank) const override {
    return fibre_above(domain().partition(), range().partition(), rank);
  }
};

}  // namespace

Step broadcast(const Space& X, const Partition& Q) {
  return std::make_shared<Broadcast>(X, lift(X, Q, Placement::Copied));
}

}  // namespace riesz::primitives
