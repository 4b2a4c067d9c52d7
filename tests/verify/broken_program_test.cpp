// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Programs in which one worker does something else than the others, each run worker by worker in a
// simulation: what they record does not match, and the difference has a name.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/recorded.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Two moves on four workers and backward through them.
struct Moves {
  Space X = Space(Partition::world(), {8, 6}).sharded(0, "world");
  Operator gather = between(X, X.copied("world"));
  Operator across = between(X, Space(Partition::world(), {8, 6}).sharded(1, "world"));

  Vector x() const { return {X, at::zeros(X.local_shape()).requires_grad_()}; }
};

std::string first_fault(const Program& program) {
  const std::vector<Fault> faults = match(recorded(4, program), each_its_own()).faults;
  return faults.empty() ? "none" : to_string(faults.front());
}

TEST(BrokenProgram, OneThatIsNotBrokenHasNoFault) {
  const std::vector<Recording> all = recorded(4, [](int) {
    const Moves moves;
    Chain chain;
    const Vector x = moves.x();
    const Vector y = moves.gather(x), z = moves.across(x);
    backward({y, z}, {Vector(dual(y.space()), at::zeros(y.local().sizes())),
                      Vector(dual(z.space()), at::zeros(z.local().sizes()))});
  });
  const Matching matching = match(all, each_its_own());
  EXPECT_THAT(matching.faults, ::testing::IsEmpty());
  EXPECT_EQ(matching.messages, 4 * 3 * 4) << "two moves and their adjoints";
  EXPECT_TRUE(follow(all, each_its_own(), matching, 0).ends);
}

TEST(BrokenProgram, ARankLeavesOutAMove) {
  const std::string fault = first_fault([](int rank) {
    const at::NoGradGuard no_gradient;
    const Moves moves;
    const LayerScope layer("block.2");
    if (rank != 2) moves.gather(moves.x());
    moves.across(moves.x());
  });
  EXPECT_THAT(fault,
              AllOf(HasSubstr("leaves out a message"), HasSubstr("rank 2"), HasSubstr("AllGather over world"),
                    HasSubstr("AllToAll over world"), HasSubstr("in layer block.2, forward")));
}

TEST(BrokenProgram, ARankSwapsTwoMoves) {
  const std::string fault = first_fault([](int rank) {
    const at::NoGradGuard no_gradient;
    const Moves moves;
    if (rank == 1) moves.across(moves.x());
    moves.gather(moves.x());
    if (rank != 1) moves.across(moves.x());
  });
  EXPECT_THAT(fault, AllOf(HasSubstr("have two moves in another order"), HasSubstr("rank 1")));
}

TEST(BrokenProgram, ARankSendsAnotherSize) {
  const std::string fault = first_fault([](int rank) {
    const at::NoGradGuard no_gradient;
    const Space X = Space(Partition::world(), {8, rank == 3 ? 5 : 6}).sharded(0, "world");
    between(X, X.copied("world"))({X, at::zeros(X.local_shape())});
  });
  EXPECT_THAT(fault, AllOf(HasSubstr("are in different moves"), HasSubstr("rank 3"), HasSubstr("10 elements"),
                           HasSubstr("12 elements")));
}

TEST(BrokenProgram, TwoStagesWaitForEachOtherInACircle) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    const at::NoGradGuard no_gradient;
    const Partition first = Partition::world().subset({0}), second = Partition::world().subset({1});
    const Space X(first, {3}), Y(second, {3});
    const auto forth = [&] { between(X, Y)({X, at::zeros(X.local_shape())}); };
    const auto back = [&] { between(Y, X)({Y, at::zeros(Y.local_shape())}); };
    if (rank == 0) back();
    forth();
    if (rank == 1) back();
  });
  const Matching matching = match(all, each_its_own());
  ASSERT_THAT(matching.faults, ::testing::IsEmpty());
  EXPECT_EQ(enough_kept(all, each_its_own(), matching), -1);
  EXPECT_THAT(
      to_string(follow(all, each_its_own(), matching, 1000).circle),
      AllOf(HasSubstr("rank 0  waits in SendRecv"), HasSubstr("for rank 1, which is to begin SendRecv"),
            HasSubstr("rank 1  waits in SendRecv"), HasSubstr("for rank 0, which is to begin SendRecv")));
}

}  // namespace
}  // namespace riesz::testing
