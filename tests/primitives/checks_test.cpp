// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What RIESZ_CHECK=1 finds: values that a space says are alike, and are not.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "moves.h"
#include "random_program.h"
#include "riesz/comm/channel.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/wait.h"
#include "riesz/partition/agreement/comparison.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

struct Checking {
  Checking() { set_consistency_checks(true); }
  ~Checking() { set_consistency_checks(before); }
  bool before = consistency_checks();
};

/// A vector of which the last worker has another one than the others.
Vector different(const Space& X) {
  return {X, at::full(X.local_shape(), Runtime::rank() + 1 == Runtime::size() ? 2.5 : 1., at::kDouble)};
}

std::string one_and_the_last() {
  return "but rank 0 has 1 at (0) and rank " + std::to_string(Runtime::size() - 1) + " has 2.5 at (0)";
}

TEST(Checks, NameTheOperatorWhoseInputDiffersBetweenWorkers) {
  if (Runtime::size() == 1) return;
  const Checking checking;
  const at::NoGradGuard guard;
  const Space X(Partition::world(), {Runtime::size()});
  const Operator copy = between(X, X.copied("world"));

  EXPECT_ERROR(copy(different(X)),
               "the input of Copy over world: Replicated -> Copied is Replicated on axis world",
               one_and_the_last());
  EXPECT_ERROR(copy.start(different(X)), "the input of Copy", one_and_the_last());
  EXPECT_ERROR(together({copy}, {different(X)}), "the input of Copy", one_and_the_last());
}

TEST(Checks, FindGradientsThatDiffer) {
  if (Runtime::size() == 1) return;
  const Checking checking;
  const Space X(Partition::world(), {2});
  const Operator sum = between(X.partial("world"), X);
  const Chain chain;
  const Vector x(sum.domain(), at::full({2}, 1., at::kDouble).requires_grad_());
  const Vector y = sum(x);

  EXPECT_ERROR(pullback(y, different(dual(X)), {x}), "the input of Copy", one_and_the_last());
}

TEST(Checks, LetTermsAndPiecesDiffer) {
  const Checking checking;
  const at::NoGradGuard guard;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for_each_move(grid, Shapes::small, [&](const Step& step) {
      EXPECT_NO_THROW(alone(step)(random_vector(step->domain(), 1, true))) << to_string(*step);
    });
  });
}

/// The same operator in two channels, which workers start, and call, in orders of their own.
struct InTwoChannels {
  Space X = Space(Partition::world(), {3});
  Operator copy = between(X, X.copied("world"));
  bool odd = Runtime::rank() % 2 == 1;

  Vector of(double number) const { return {X, at::full({3}, number, at::kDouble)}; }
  void expect_ends(int first, int second) const {
    const auto start = [&](int channel) {
      const ChannelScope in(channel);
      return copy.start(of(channel));
    };
    const auto call = [&](int channel) {
      const ChannelScope in(channel);
      return copy(of(channel));
    };
    Pending one = start(odd ? second : first), other = start(odd ? first : second);
    EXPECT_SAME_BITS(one.wait().local(), of(odd ? second : first).local());
    EXPECT_SAME_BITS(other.wait().local(), of(odd ? first : second).local());
    call(odd ? second : first);
    call(odd ? first : second);
  }
};

TEST(Checks, LetWorkersHaveOrdersOfTheirOwnInTwoChannels) {
  if (Runtime::size() == 1) return;
  const Checking checking;
  const at::NoGradGuard guard;
  const InTwoChannels program;
  if (Runtime::size() == 2) program.expect_ends(1, 2);  // which waits for some seconds
  wait_for_checks_no_more();
  program.expect_ends(3, 4);
}

TEST(Checks, FindDifferencesWhereNoCallWaitsForThem) {
  if (Runtime::size() == 1) return;
  const Checking checking;
  const at::NoGradGuard guard;
  const InTwoChannels program;
  wait_for_checks_no_more();
  const auto call_in = [&](int channel) {
    const ChannelScope in(channel);
    const Vector x = channel == 5 ? different(program.X) : program.of(1);
    program.copy(x);
    x.local().fill_(7);  // which is no difference
  };
  const auto in_other_orders = [&] {
    if (!program.odd) call_in(5);
    call_in(6);
    sum_of_all(0);  // until here nobody can know of the difference
    if (program.odd) call_in(5);
    wait_here(
        "a test", [] { return false; }, [] { return std::vector<int>(); });
  };

  EXPECT_ERROR(in_other_orders(), "the input of Copy", one_and_the_last());
  EXPECT_NO_THROW(program.expect_ends(7, 8));
}

TEST(Checks, NameTheValuesOfBeforeTheProgramWroteOthers) {
  if (Runtime::size() == 1) return;
  const Space X(Partition::world(), {3});
  const auto written_after = [&](int steps) {
    const Vector x = different(X);
    const auto comparison = Comparison::begin("x", X.copied("world"), x.local());
    for (int step = 0; step < steps; ++step) {
      sum_of_all(0);  // what was sent has come
      comparison->advance();
    }
    comparison->keep_copy();
    x.local().fill_(7);
    sum_of_all(0);
    comparison->wait();
  };

  for (int steps = 0; steps < 5; ++steps) EXPECT_ERROR(written_after(steps), one_and_the_last());
}

TEST(Operators, OnWorkersInAnotherOrderAreToldApart) {
  if (Runtime::size() != 4) return;
  const at::NoGradGuard guard;
  const Partition world = Partition::world();
  const Partition team =
      world.subset(Runtime::rank() == 1 ? std::vector<int>{0, 2, 1, 3} : std::vector<int>{0, 1, 2, 3});
  const Space X(team, {8});
  const Operator sum = between(X.partial("subset"), X);

  EXPECT_ERROR(sum(random_vector(sum.domain(), 1)), "the workers' programs differ",
               "of (8), with other splits, pieces or workers");
}

TEST(Operators, FlagsOfWorkersInAnotherOrderAreToldApart) {
  if (Runtime::size() != 2) return;
  const Partition team =
      Partition::world().subset(Runtime::rank() == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0});

  EXPECT_ERROR(all_max(team, {"subset"}, at::tensor({1, 2}, at::kLong)), "the workers' programs differ",
               "AllMax over subset, with other splits, pieces or workers");
}

TEST(Operators, OfOtherSplitsAreToldApart) {
  const int n = Runtime::size();
  if (n == 1) return;
  const at::NoGradGuard guard;
  const Space X(Partition::world(), {4 * n});
  const Split split = Runtime::rank() % 2 == 0 ? Split::zigzag(4 * n, n) : Split::balanced(4 * n, n, 2);
  const Operator gather = between(X.sharded(0, "world", split), X.copied("world"));

  EXPECT_ERROR(gather(random_vector(gather.domain(), 1)), "the workers' programs differ",
               "with other splits, pieces or workers");
}

TEST(Checks, AreNoneUnlessAskedFor) {
  const bool asked = consistency_checks();
  set_consistency_checks(false);
  const at::NoGradGuard guard;
  const Space X(Partition::world(), {Runtime::size()});
  Counters::instance().reset();

  EXPECT_NO_THROW(between(X, X.copied("world"))(different(X)));
  EXPECT_EQ(Counters::instance().total(), Traffic{});
  set_consistency_checks(asked);
}

TEST(Checks, AreNoneInASimulation) {
  const Checking checking;
  {
    const Simulation simulation(1, 4);
    const at::NoGradGuard guard;
    const Space X(Partition::world(), {4});
    EXPECT_NO_THROW(between(X, X.copied("world"))(random_vector(X, 1)));
  }
  EXPECT_TRUE(consistency_checks());
}

}  // namespace
}  // namespace riesz::testing
