// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a region must not do is refused by its name, and nothing is left in disorder.
#include <ATen/ops/empty.h>

#include <stdexcept>

#include "recompute_program.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

class RecomputeErrors : public ::testing::Test {
 protected:
  /// A region that is told in which of its runs it is, from 1.
  void go_back(const std::function<Vector(const Vector&, int)>& region) {
    Chain chain;
    const ContextScope context(context_of(0));
    int run = 0;
    const Vector y = recompute(
        {.name = "the fork"}, [&](const Vector& x) { return region(x, ++run); }, net.x);
    backward(y, distribute(dual(y.space()), draws(y.space().shape(), 4)));
  }

  /// All is in order: what a plain call gives.
  ~RecomputeErrors() override {
    taken_gradients(net);
    const auto program = [](Net& n, const auto& way) { return std::vector<Vector>{way(n.a_(), n.x)}; };
    const Bits expected = left_by(program, net, Plainly());
    expect_bits(left_by(program, net, Again()), expected);
    EXPECT_EQ(Chain::current(), nullptr);
    EXPECT_EQ(ContextScope::current(), nullptr);
    EXPECT_EQ(current_channel(), 0);
  }

  Net net{Partition::world().grid({{"dp", 1}, {"tp", Partition::world().size()}})};
};

TEST_F(RecomputeErrors, OtherCommunication) {
  const int tp = net.X.partition().axis(1).extent;
  EXPECT_ERROR(go_back([&](const Vector& x, int run) { return run == 1 ? net.a(x) : net.b(net.a(x)); }),
               "recompute of the fork does not repeat", "nothing more",
               tp > 1 ? "communicates" : "keep for backward");
}

TEST_F(RecomputeErrors, OtherTensors) {
  EXPECT_ERROR(
      go_back([&](const Vector& x, int run) { return run == 1 ? x * x : x * x * x; }),
      "recompute of the fork does not repeat: of what its operations keep for backward, number 3 was "
      "nothing more the first time and Double");
}

TEST_F(RecomputeErrors, OtherResults) {
  const Space whole(net.X.partition(), {kRows, kWidth});
  EXPECT_ERROR(go_back([&](const Vector& x, int run) {
                 return run == 1 ? Vector(x.space(), x.local().detach())
                                 : Vector(whole, at::empty(whole.local_shape()));
               }),
               "recompute of the fork does not repeat", "its result 1 lies in");
}

/// Which costs a pass over the results, and so is looked at with checks alone.
TEST_F(RecomputeErrors, OtherValues) {
  const auto region = [&](const Vector& x, int run) { return run * net.a(x); };
  go_back(region);
  set_consistency_checks(true);
  EXPECT_ERROR(go_back(region), "recompute of the fork does not repeat", "has other bits the second time");
  go_back([&](const Vector& x, int) { return net.a(x); });
  set_consistency_checks(false);
}

TEST_F(RecomputeErrors, ParametersThatWereWrittenTo) {
  Chain chain;
  const ContextScope context(context_of(0));
  const Vector y = recompute({.name = "the fork"}, net.a_(), net.x);
  {
    const at::NoGradGuard no_gradient;
    net.a.up.weight().leaf().mul_(1);
  }
  EXPECT_ERROR(backward(y, distribute(dual(y.space()), draws(y.space().shape(), 4))),
               "recompute of the fork does not repeat: a leaf of Double [5, ", "was written to in between");
}

TEST_F(RecomputeErrors, SecondDerivatives) {
  Chain chain;
  const ContextScope context(context_of(0));
  const Vector y = recompute({.name = "the fork"}, net.a_(), net.x);
  EXPECT_ERROR(pullback(y, distribute(dual(y.space()), draws(y.space().shape(), 4)), {net.x}, true),
               "recompute of the fork has no second derivatives");
}

TEST_F(RecomputeErrors, GradientsTakenInside) {
  EXPECT_ERROR(go_back([&](const Vector& x, int) {
                 const Vector y = x * x;
                 return pullback(y, distribute(dual(y.space()), draws(y.space().shape(), 4)), {x})[0];
               }),
               "recompute of the fork: backward comes to what is inside before the region has run again");
}

TEST_F(RecomputeErrors, OutsideOfAChain) {
  EXPECT_ERROR(recompute({.name = "the fork"}, net.a_(), net.x), "recompute of the fork", "outside a chain");
}

/// The layer in which a region is called names it.
TEST_F(RecomputeErrors, AreNamedByTheLayer) {
  const LayerScope layer("blocks.3");
  EXPECT_ERROR(recompute(net.a_(), net.x), "recompute of blocks.3");
}

TEST_F(RecomputeErrors, WhatTheSecondRunThrowsArrivesAsItIs) {
  EXPECT_THROW(go_back([&](const Vector& x, int run) {
                 const Vector y = net.a(x);
                 if (run == 2) throw std::domain_error("not twice");
                 return y;
               }),
               std::domain_error);
  EXPECT_THROW(go_back([&](const Vector& x, int) -> Vector {
                 net.a(x);
                 throw std::domain_error("not once");
               }),
               std::domain_error);
}

}  // namespace
}  // namespace riesz::testing
