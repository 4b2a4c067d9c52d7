// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/operator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/all_to_all_v.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

using testing::random_vector;

Partition grid_2x2() { return Partition::simulated(4).grid({{"a", 2}, {"b", 2}}); }

TEST(Operator, IdentityIsTheVectorItself) {
  const Space X = Space(Partition::world(), {3}).copied("world");
  const Operator A = Operator::identity(X);
  const Vector x = random_vector(X, 1);

  EXPECT_TRUE(A(x).local().is_same(x.local()));
  EXPECT_FALSE(A.communicates());
  EXPECT_EQ(to_string(A), "identity");
  EXPECT_EQ(between(X, X), A);
  EXPECT_ADJOINT(A);
}

TEST(Operator, ComposesAndItsAdjointIsReversed) {
  const Space X = Space(Partition::world(), {5, 2}).sharded(0, "world");
  const Space Y = X.copied("world");
  const Space Z = Space(Partition::world(), {5, 2}).partial("world");
  const Operator A = between(Y, Z);
  const Operator B = between(X, Y);

  const Operator AB = A * B;

  EXPECT_EQ(AB.domain(), X);
  EXPECT_EQ(AB.range(), Z);
  EXPECT_EQ(AB.steps().size(), A.steps().size() + B.steps().size());
  EXPECT_EQ(adjoint(AB), adjoint(B) * adjoint(A));
  EXPECT_ADJOINT(AB);
  const at::NoGradGuard guard;
  EXPECT_SAME_BITS(AB(random_vector(X, 1)).local(), A(B(random_vector(X, 1))).local());
}

TEST(Operator, RefusesToComposeNamingBothSpaces) {
  const Space X(grid_2x2(), {6});
  const Operator A = between(X, X.copied("a"));
  const Operator B = between(X.partial("b"), X.sharded(0, "b"));

  EXPECT_ERROR(A * B, "A * B needs A.domain() == B.range()", "(6) on (a=2, b=2): a replicated, b replicated",
               "dim 0 over b", "between(B.range(), A.domain())");
}

TEST(Operator, RefusesAVectorOfAnotherSpace) {
  const Space X(Partition::world(), {3});
  const Operator A = between(X.copied("world"), X.sharded(0, "world"));

  EXPECT_ERROR(A(random_vector(X, 1)), "has the domain", "world copied", "called with a vector of",
               "world replicated", "bring it there with between(X, Y)");
}

TEST(Operator, RefusesToSendWhereWorkersAreMadeUp) {
  const Partition made_up = Partition::simulated(4).grid({{"tp", 4}});
  const Space X = Space(made_up, {8});
  const Operator sum = between(X.partial("tp"), X.copied("tp"));
  const Vector x(sum.domain(), at::ones({8}, at::kDouble));
  const at::NoGradGuard no_gradient;

  EXPECT_EQ(sum.traffic(0).messages, 6);
  EXPECT_ERROR(sum(x), "AllReduce over tp", "(tp=4) are made up by Partition::simulated", "Simulation");
  EXPECT_ERROR(sum.start(x), "are made up by Partition::simulated");
  EXPECT_ERROR(pairing(x, {dual(x.space()), x.local()}), "pairing", "are made up by Partition::simulated");
  EXPECT_ERROR(all_max(made_up, {"tp"}, x.local()), "AllMax over tp", "are made up by Partition::simulated");
  EXPECT_ERROR(all_counts(made_up, {"tp"}, 1), "AllCounts", "are made up by Partition::simulated");
  const Operator copy = between(X.replicated("tp"), X.replicated("tp"));
  EXPECT_EQ(copy({X, x.local()}).local().numel(), 8);
}

TEST(Operator, RefusesAnAxisGivenTwice) {
  const Partition P = Partition::world().grid({{"tp", Runtime::size()}});
  const Space X = Space(P, {8});

  EXPECT_ERROR(primitives::all_reduce(X.partial("tp"), X.copied("tp"), {0, 0}),
               "AllReduce: axis tp is given twice");
  EXPECT_ERROR(all_counts(P, {"tp", "tp"}, 1), "axis tp is given twice");
  EXPECT_ERROR(all_max(P, {"tp", "tp"}, at::ones({1})), "axis tp is given twice");
}

TEST(Operator, OfSpacesOfOneMeaningIsTheIdentity) {
  const Partition P = Partition::world().grid({{"tp", Runtime::size()}, {"one", 1}});
  const Space X = Space(P, {8}).sharded(0, "tp");
  const Space same = Space(P, {8}).sharded(0, "tp", Split::balanced(8, Runtime::size()));

  EXPECT_TRUE(between(X, same).steps().empty());
  const Vector x = random_vector(X, 1);
  EXPECT_EQ(between(X, same)(x).space(), X);
  const Operator gather = between(X, Space(P, {8}).copied("tp"));
  const at::NoGradGuard no_gradient;
  EXPECT_NO_THROW(gather({same, x.local()}));
  EXPECT_EQ((gather * between(same, X)).steps().size(), gather.steps().size());
}

TEST(Operator, OfOneWorkerKeepsTheOrderOfItsSplit) {
  const Partition one = Partition::world().subset({0}).grid({{"a", 1}});
  const Space X = Space(one, {6}).sharded(0, "a", Split::pieces(6, {{{3, 6}, {0, 3}}}));
  const at::Tensor t = at::arange(6, at::kDouble);
  const Operator in_order = between(X, Space(one, {6}));
  const auto applied = [&] {
    const at::NoGradGuard no_gradient;
    return in_order(distribute(X, t)).local();
  };

  EXPECT_TRUE(!one.active() || at::equal(applied(), t));
  EXPECT_ADJOINT(between(X, Space(one, {6})));
  EXPECT_ADJOINT(between(Space(one, {6}), X));
}

TEST(Operator, RefusesToRecordOutsideAChain) {
  const Space X(Partition::world(), {3});
  const Operator A(X.partial("world"), X, between(X.partial("world"), X).steps());
  const Vector x(A.domain(), random_vector(A.domain(), 1).local().requires_grad_());
  if (!A.communicates()) return;  // on one worker

  EXPECT_ERROR(A(x), "AllReduce over world", "outside a chain", "riesz::Chain chain;",
               "at::NoGradGuard guard;");
  {
    const at::NoGradGuard guard;
    EXPECT_NO_THROW(A(x));
  }
  const Chain chain;
  EXPECT_NO_THROW(A(x));
}

TEST(Operator, RefusesStepsThatDoNotMeet) {
  const Space X(grid_2x2(), {6});
  const Step gather_a = primitives::all_gather(X.sharded(0, "a"), X, {0});
  const Step copy_b = primitives::copy(X.copied("a"), X.copied("a").copied("b"), {1});

  EXPECT_ERROR(Operator(X.sharded(0, "a"), X.copied("a").copied("b"), {gather_a, copy_b}), "step Copy over b",
               "starts in", "a copied, b replicated", "but what comes before ends in",
               "a replicated, b replicated");
  EXPECT_ERROR(Operator(X.sharded(0, "a"), X.copied("a"), {gather_a}), "the last step ends in",
               "but the range is");
  EXPECT_ERROR(Operator(X.sharded(0, "b"), X, {gather_a}), "step AllGather over a", "dim 0 over b");
}

TEST(Operator, StepsMeetAcrossAxesOfOneWorker) {
  const Space X(Partition::simulated(2).grid({{"a", 2}, {"one", 1}}), {6});

  EXPECT_NO_THROW(
      Operator(X.sharded(0, "a"), X.partial("one"), {primitives::all_gather(X.sharded(0, "a"), X, {0})}));
}

TEST(Operator, EqualityIsOfSpacesAndSteps) {
  const Space X(grid_2x2(), {6});

  EXPECT_EQ(between(X, X.copied("a")), between(X, X.copied("a")));
  EXPECT_NE(between(X, X.copied("a")), between(X, X.copied("b")));
  EXPECT_NE(Operator::identity(X), between(X.copied("a"), X) * between(X, X.copied("a")));
}

TEST(Operator, EqualityForgivesTheOrderOfChangesOfUnshardedAxes) {
  const Space X(grid_2x2(), {6});
  const Operator a_first = between(X.copied("a"), X.copied("a").copied("b")) * between(X, X.copied("a"));
  const Operator b_first = between(X.copied("b"), X.copied("a").copied("b")) * between(X, X.copied("b"));

  EXPECT_EQ(a_first, b_first);
}

TEST(Operator, EqualityForgivesTheOrderOfAChangeAndAnExchange) {
  const Space X = Space(grid_2x2(), {6, 4}).sharded(0, "a");
  const Space Y = Space(grid_2x2(), {6, 4}).sharded(1, "a");
  const Operator change_first =
      between(X.partial("b"), Y.partial("b")) * between(X.copied("b"), X.partial("b"));
  const Operator exchange_first =
      between(Y.copied("b"), Y.partial("b")) * between(X.copied("b"), Y.copied("b"));

  EXPECT_EQ(change_first, exchange_first);
  EXPECT_NE(to_string(change_first), to_string(exchange_first));
}

TEST(Operator, EqualitySeesTheOrderOfMovesThatDoNotCommute) {
  const Space X = Space(grid_2x2(), {6, 4}).copied("a").copied("b");
  const Space Y = X.sharded(0, "a").sharded(0, "b");
  const Space Z = X.sharded(0, "b").sharded(0, "a");
  const Operator a_first = between(Y, X) * between(X, Y);
  const Operator b_first = between(Z, X) * between(X, Z);

  EXPECT_NE(a_first, b_first);
}

TEST(Operator, EqualitySeesWhereItLeadsThrough) {
  const Space X = Space(grid_2x2(), {6}).copied("a").copied("b");
  const auto through = [&](const Space& Z) {
    return Operator(X, X, {primitives::slice(X, Z, {0}), primitives::all_gather(Z, X, {0})});
  };
  EXPECT_EQ(through(X.sharded(0, "a")), through(X.sharded(0, "a")));
  EXPECT_NE(through(X.sharded(0, "a")), through(X.sharded(0, "a", Split::sizes({1, 5}))));

  const Partition world = Partition::simulated(4);
  const Space root(world.subset({0}), {6});
  const auto over = [&](const std::vector<int>& ranks) {
    const Space Y = Space(world.subset(ranks).grid({{"b", 2}}), {6}).copied("b");
    return between(Y, root.copied("subset")) * between(root.copied("subset"), Y);
  };
  EXPECT_EQ(over({1, 2}), over({1, 2}));
  EXPECT_NE(over({1, 2}), over({2, 3}));
}

TEST(Operator, PrintsItsStepsInOrder) {
  const Space X(grid_2x2(), {6, 4});
  const Operator A = between(X.sharded(0, "a").partial("b"), X.sharded(1, "b").copied("a"));

  EXPECT_EQ(to_string(A),
            "ReduceScatter over b: Partial -> Sharded(1), AllGather over a: Sharded(0) -> Copied");
  const Partition root = Partition::simulated(4).subset({3});
  EXPECT_EQ(to_string(between(Space(root, {2}), Space(grid_2x2(), {2}).copied("a").copied("b"))),
            "Broadcast: (subset=1) -> (a=2, b=2)");
  EXPECT_EQ(to_string(between(Space(grid_2x2(), {2}).partial("a").partial("b"), Space(root, {2}))),
            "SumReduce: (a=2, b=2) -> (subset=1)");
}

TEST(Operator, SaysWhetherItOrItsAdjointCommunicates) {
  const Space X(grid_2x2(), {6});

  EXPECT_TRUE(between(X, X.copied("a")).communicates());  // its adjoint is an AllReduce
  EXPECT_TRUE(between(X.sharded(0, "a"), X).communicates());
  EXPECT_TRUE(between(X, X.sharded(0, "a")).communicates());
  EXPECT_FALSE(between(X.copied("a"), X.sharded(0, "a")).communicates());
  EXPECT_FALSE(between(X.copied("a"), X.partial("a")).communicates());
  EXPECT_FALSE(between(X.copied("a"), X).communicates());
  const Space alone(Partition::simulated(4).subset({1}), {6});
  EXPECT_FALSE(between(alone.partial("subset"), alone.sharded(0, "subset")).communicates());
  EXPECT_FALSE(
      Operator(alone.partial("subset"), alone, {primitives::all_reduce(alone.partial("subset"), alone, {0})})
          .communicates());
}

TEST(Steps, RefuseEndsThatAreNotTheirs) {
  const Space X(grid_2x2(), {6, 4});

  EXPECT_ERROR(primitives::copy(X, X.partial("a"), {0}), "Copy on axis a goes from Replicated to Copied",
               "a replicated, b replicated", "a partial, b replicated");
  EXPECT_ERROR(primitives::all_reduce(X.partial("a"), X.sharded(0, "a"), {0}),
               "from Partial to Replicated or Copied");
  EXPECT_ERROR(primitives::copy(X, X.copied("a").with_shape({6, 5}), {0}), "within one partition and shape");
  EXPECT_ERROR(primitives::copy(X, X.copied("a"), {}), "no axis to move along");
}

/// Such a move would have no adjoint of one kind either.
TEST(Steps, RefuseAxesOfSeveralKinds) {
  const Space X(grid_2x2(), {6, 4});
  const Space mixed = X.copied("b");
  const Space terms = X.partial("a").partial("b");
  const Space pieces = X.sharded(0, "a").sharded(1, "b");

  EXPECT_ERROR(primitives::all_reduce(terms, mixed, {0, 1}), "AllReduce moves axes that are placed alike",
               "a partial, b partial", "a replicated, b copied", "between(X, Y)");
  EXPECT_ERROR(primitives::all_gather(pieces, mixed, {0, 1}), "AllGather moves axes that are placed alike");
  EXPECT_ERROR(primitives::term(mixed, terms, {0, 1}), "Term moves axes that are placed alike");
  EXPECT_ERROR(primitives::slice(mixed, pieces, {0, 1}), "Slice moves axes that are placed alike");
}

TEST(Steps, RefuseToChangeOtherAxesOrToMoveMajorOnes) {
  const Space X(grid_2x2(), {6, 4});

  EXPECT_ERROR(primitives::copy(X, X.copied("a").copied("b"), {0}),
               "leaves the axes that it does not move as they are");
  EXPECT_ERROR(primitives::all_gather(X.sharded(0, "a").sharded(0, "b"), X.sharded(0, "b"), {0}),
               "moves the minor-most ones", "dim 0 over a then b");
  EXPECT_ERROR(primitives::slice(X.sharded(0, "b").copied("a"), X.sharded(0, "a").sharded(0, "b"), {0}),
               "moves the minor-most ones");
  EXPECT_ERROR(
      primitives::repartition(X.sharded(0, "a").sharded(0, "b"), X.sharded(0, "b").sharded(0, "a"), {0}),
      "moves the minor-most ones");
}

}  // namespace
}  // namespace riesz
