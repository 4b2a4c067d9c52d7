// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/sum_reduce.h"

#include "riesz/primitives/box_exchange.h"
#include "riesz/primitives/broadcast.h"
#include "riesz/primitives/lift.h"

namespace riesz::primitives {
namespace {

class SumReduce final : public BoxExchange {
 public:
  SumReduce(const Space& X, const Space& Y)
      : BoxExchange("SumReduce", X, Y, new_axes(Y.partition(), X.partition()), Combine::add) {}

  Step adjoint() const override { return broadcast(dual(range()), domain().partition()); }

 protected:
  std::vector<int> senders(int rank) const override {
    return fibre_above(range().partition(), domain().partition(), rank);
  }
  std::vector<int> receivers(int rank) const override {
    return {project(range().partition(), domain().partition(), rank)};
  }
};

}  // namespace

Step sum_reduce(const Space& Y, const Partition& P) {
  return std::make_shared<SumReduce>(lift(Y, P, Placement::Partial), Y);
}

}  // namespace riesz::primitives
