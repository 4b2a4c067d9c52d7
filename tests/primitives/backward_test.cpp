// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/backward.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

using testing::random_vector;

Vector leaf(const Space& X, std::uint64_t seed) {
  const Vector x = random_vector(X, seed);
  return {X, x.local().clone().requires_grad_()};
}

/// The sum of all the workers' sums: Partial on every axis, brought to Replicated.
Vector total(const Partition& P, const at::Tensor& mine) {
  const Space scalar(P, {});
  Space terms = scalar;
  for (const Axis& axis : P.axes()) terms = terms.partial(axis.name);
  return between(terms, scalar)({terms, P.active() ? mine.sum() : at::zeros({0}, mine.options())});
}

TEST(Backward, SeedsOneOnEveryWorkerWhateverTheGrid) {
  testing::for_each_grid(Runtime::size(), [](const Partition& grid) {
    const Chain chain;
    const Vector x = leaf(Space(grid, {3}), 1);
    Space copies = x.space();
    for (const Axis& axis : grid.axes()) copies = copies.copied(axis.name);

    const Vector loss = total(grid, between(x.space(), copies)(x).local());
    backward(loss);

    // each of p workers adds its copy's gradient of ones
    EXPECT_SAME_BITS(gradient(x).local(), at::full({3}, 1. * grid.size(), at::kDouble));
    EXPECT_EQ(gradient(x).space(), dual(x.space()));
  });
}

TEST(Backward, LeavesGradientsInDualSpaces) {
  const Partition P = Partition::world();
  const Space X(P, {P.size() + 1, 2});
  for (const Space& S : {X, X.copied("world"), X.partial("world"), X.sharded(0, "world")}) {
    const Chain chain;
    const Vector x = leaf(S, 1);
    const Vector w = random_vector(X.sharded(0, "world"), 2);

    backward(total(P, between(S, w.space())(x).local().mul(w.local())));

    const at::NoGradGuard guard;
    EXPECT_EQ(gradient(x).space(), dual(S));
    EXPECT_SAME_BITS(gradient(x).local(), between(w.space(), dual(S))(w).local()) << to_string(S);
  }
}

TEST(Backward, AddsToTheGradientThatIsThere) {
  const Partition P = Partition::world();
  const Chain chain;
  const Vector x = leaf(Space(P, {2}).sharded(0, "world"), 1);

  backward(total(P, x.local()));
  backward(total(P, x.local().mul(2)));

  EXPECT_SAME_BITS(gradient(x).local(), at::full(x.space().local_shape(), 3., at::kDouble));
}

TEST(Backward, OfNothingReachedIsZero) {
  const Partition P = Partition::world();
  const Chain chain;
  const Vector x = leaf(Space(P, {2}).copied("world"), 1);

  backward(total(P, at::ones({1}, at::kDouble)));

  EXPECT_SAME_BITS(gradient(x).local(), at::zeros({2}, at::kDouble));
  EXPECT_EQ(gradient(x).space(), x.space().partial("world"));
}

/// Also on workers that have no part of it.
TEST(Backward, LeavesNoGradientWhereNoneIsRequired) {
  const Partition first = Partition::world().subset({0});
  const Chain chain;
  const Vector x = leaf(Space(first, {2}), 1);
  const Vector constant(x.space(), x.local().detach());
  const Vector y = 2 * x;

  backward(total(first, y.local()));

  EXPECT_SAME_BITS(gradient(x).local(), at::full(x.local().sizes(), 2., at::kDouble));
  EXPECT_ERROR(gradient(constant), "requires none", to_string(x.space()), "requires_grad_() on every worker");
  EXPECT_ERROR(gradient(y), "was computed", "pullback(y, ybar, {x})");
}

/// Σ over i of A_i* ȳ_i along each of several leaves, which several y have in common, added to what is there.
TEST(Backward, OfSeveralVectorsIsTheSumOfTheirAdjoints) {
  testing::for_each_grid(Runtime::size(), [](const Partition& grid) {
    const Space X(grid, {grid.size() + 1, 2});
    const std::string axis = grid.axes().front().name;
    const Operator gather = between(X.sharded(0, axis), X.copied(axis));
    const Operator sum = between(X.partial(axis), X);
    const Operator swap = between(X.sharded(0, axis), X.sharded(1, axis));
    const Vector x = leaf(gather.domain(), 1);
    const Vector z = leaf(sum.domain(), 2);
    const std::vector<Vector> ybars{random_vector(dual(gather.range()), 3),
                                    random_vector(dual(sum.range()), 4, true),
                                    random_vector(dual(swap.range()), 5)};

    Chain chain;
    for (int pass = 0; pass < 2; ++pass) {
      const at::Tensor head = chain.head();
      backward({gather(x), sum(z), swap(x)}, ybars);
      EXPECT_FALSE(chain.head().is_same(head));
    }

    const at::NoGradGuard guard;
    const at::Tensor xbar = adjoint(gather)(ybars[0]).local().add(adjoint(swap)(ybars[2]).local());
    EXPECT_TRUE(gradient(x).local().allclose(xbar.mul(2), 1e-12, 1e-12));
    EXPECT_SAME_BITS(gradient(z).local(), adjoint(sum)(ybars[1]).local().mul(2));
  });
}

/// Gradients that come through a move as they are: leaves neither share them nor write into what was given.
TEST(Backward, GivesEachLeafAGradientOfItsOwn) {
  const Partition P = Partition::world();
  const Space X(P, {2 * P.size()});
  for (const Operator& A : {between(X.partial("world"), X), between(X.sharded(0, "world"), X)}) {
    const std::vector<Vector> xs{leaf(A.domain(), 1), leaf(A.domain(), 2), leaf(A.domain(), 3)};
    const Vector ybar = random_vector(dual(A.range()), 4, true);
    const at::Tensor before = ybar.local().clone();

    const Chain chain;
    for (int pass = 0; pass < 2; ++pass) backward(A(xs[0]) + A(xs[1]) + A.start(xs[2]).wait(), ybar);

    EXPECT_SAME_BITS(ybar.local(), before);
    const at::NoGradGuard guard;
    for (const Vector& x : xs) EXPECT_SAME_BITS(gradient(x).local(), adjoint(A)(ybar).local().mul(2));
  }
}

/// On each worker another one of the two y is recorded; what communicates is reached on all.
TEST(Backward, ReachesAllWhereAVectorIsNotRecorded) {
  const Partition P = Partition::world();
  const Space X(P, {3});
  const Operator sum = between(X.partial("world"), X.copied("world"));
  const Chain chain;
  const Vector x = leaf(X.copied("world"), 1);
  const Vector y = sum({sum.domain(), x.local().mul(2)});
  const bool first = P.rank() % 2 == 0;
  const Vector cut(y.space(), first ? y.local() : y.local().detach());
  const Vector other(x.space(), first ? x.local().detach() : x.local().mul(3));
  const at::Tensor ones = at::ones({3}, at::kDouble);

  backward({cut, other}, {{dual(y.space()), ones}, {dual(x.space()), ones}});

  const int cuts = (P.size() + 1) / 2;
  const at::Tensor expected = at::full({3}, 2. * cuts + (first ? 0 : 3), at::kDouble);
  EXPECT_SAME_BITS(gradient(x).local(), expected);
}

TEST(Backward, RefusesGradientsThatAreNotInTheDuals) {
  const Partition P = Partition::simulated(2);
  const Vector y(Space(P, {3}).copied("world"), at::ones({3}));
  const Vector ybar(Space(P, {3}).partial("world"), at::ones({3}));

  EXPECT_ERROR(backward(y, ybar), "backward outside a chain");
  const Chain chain;
  EXPECT_ERROR(backward(y, y), "backward: the gradient of a vector of", "world copied", "is in its dual");
  EXPECT_ERROR(backward({y, y}, {ybar}), "1 gradients for 2 vectors", "one to each");
  EXPECT_ERROR(backward(std::vector<Vector>{}, {}), "0 gradients for 0 vectors");
}

TEST(Backward, ConsumesTheChain) {
  const Partition P = Partition::world();
  Chain chain;
  const Vector x = leaf(Space(P, {2}).sharded(0, "world"), 1);
  const at::Tensor head = chain.head();

  backward(total(P, x.local()));

  EXPECT_FALSE(chain.head().is_same(head));
  EXPECT_TRUE(chain.token().is_same(chain.head()));
}

TEST(Backward, ActsOnTheInnermostChain) {
  const Partition P = Partition::world();
  const Chain outer;
  const Vector x = leaf(Space(P, {3}).sharded(0, "world"), 1);
  const Vector z = leaf(Space(P, {3}).sharded(0, "world"), 2);
  const Vector first = total(P, x.local());
  {
    const Chain inner;
    backward(total(P, z.local().mul(2)));
  }

  backward(first);

  EXPECT_SAME_BITS(gradient(x).local(), at::ones(x.space().local_shape(), at::kDouble));
  EXPECT_SAME_BITS(gradient(z).local(), at::full(x.space().local_shape(), 2., at::kDouble));
}

TEST(Backward, RefusesALossThatIsNoReplicatedScalar) {
  const Partition P = Partition::simulated(6).grid({{"dp", 2}, {"tp", 3}});
  const Space scalar(P, {});
  const at::Tensor one = at::ones({}, at::kDouble);
  const Chain chain;

  EXPECT_ERROR(backward({scalar.partial("tp"), one}), "the loss is Partial on axis tp", "tp partial",
               "missing: AllReduce over tp", "between(X, Y)");
  EXPECT_ERROR(backward({scalar.copied("dp"), one}), "the loss is Copied on axis dp",
               "missing: Agree over dp");
  EXPECT_ERROR(backward({Space(P, {1}), one.view({1})}), "a vector of (1) on (dp=2, tp=3)", "not a scalar");
}

TEST(Backward, RefusesOnOneWorkerWhatItRefusesOnMany) {
  const Partition P = Partition::world().grid({{"a", Partition::world().size()}, {"one", 1}});
  const Space scalar(P, {});
  const Space terms = scalar.partial("one");
  const Chain chain;
  const Vector x = leaf(scalar, 1);
  const Vector loss(terms, x.local().mul(3));

  EXPECT_ERROR(backward(loss), "the loss is Partial on axis one", "missing: AllReduce over one");
  EXPECT_ERROR(backward({scalar.copied("one"), x.local().mul(3)}), "the loss is Copied on axis one",
               "missing: Agree over one");
  backward(between(terms, scalar)(loss));
  EXPECT_EQ(gradient(x).local().item<double>(), 3);
}

TEST(Backward, RefusesToRunOutsideAChain) {
  const Space scalar(Partition::world(), {});
  const Vector loss(scalar, at::ones({}, at::kDouble));

  EXPECT_ERROR(backward(loss), "backward outside a chain", "riesz::Chain chain;");
  EXPECT_ERROR(pullback(loss, loss, {loss}), "pullback outside a chain");
}

TEST(Backward, KeepsHalfTypesAndAddsThemInFp32) {
  const Partition P = Partition::world();
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const double large = type == at::kHalf ? 2048 : 256;  // where adding 1 in the type itself is lost
    const Chain chain;
    const Space X(P, {2});
    const Vector x(X, at::ones({2}, type).requires_grad_());
    const Vector copy = between(X, X.copied("world"))(x);

    backward(total(P, copy.local().mul(P.rank() == 0 ? large : 1.).sum()));

    EXPECT_SAME_BITS(gradient(x).local(), at::full({2}, large + P.size() - 1, at::kFloat).to(type));
  }
}

TEST(Pullback, IsTheAdjointAlongEachInput) {
  const Partition P = Partition::world();
  const Chain chain;
  const Space X(P, {P.size() + 1});
  const Operator A = between(X.sharded(0, "world"), X.copied("world"));
  const Vector x = leaf(A.domain(), 1);
  const Vector unused = leaf(X.partial("world"), 2);
  const Vector ybar = random_vector(dual(A.range()), 3);

  const std::vector<Vector> xbar = pullback(A(x), ybar, {unused, x});

  const at::NoGradGuard guard;
  ASSERT_EQ(xbar.size(), 2u);
  EXPECT_EQ(xbar[0].space(), X.copied("world"));
  EXPECT_SAME_BITS(xbar[0].local(), at::zeros_like(unused.local()));
  EXPECT_EQ(xbar[1].space(), dual(A.domain()));
  EXPECT_SAME_BITS(xbar[1].local(), adjoint(A)(ybar).local());
  EXPECT_FALSE(xbar[1].local().requires_grad());
  EXPECT_FALSE(x.local().grad().defined());
}

TEST(Pullback, RefusesAGradientThatIsNotInTheDual) {
  const Chain chain;
  const Vector y = leaf(Space(Partition::world(), {3}).copied("world"), 1);

  EXPECT_ERROR(pullback(y, y, {y}), "the gradient of a vector of", "world copied", "is in its dual");
}

TEST(Recording, IsNothingWithoutGradient) {
  const Partition P = Partition::world();
  Chain chain;
  const at::Tensor before = chain.token();
  const Vector x = leaf(Space(P, {3}).partial("world"), 1);
  if (P.size() == 1) return;  // the identity is x itself
  const at::NoGradGuard guard;

  const Vector y = between(x.space(), Space(P, {3}))(x);

  EXPECT_FALSE(y.local().requires_grad());
  EXPECT_TRUE(chain.token().is_same(before));
}

TEST(Recording, OfMovesThatNeverCommunicateLeavesTheChainAlone) {
  const Partition P = Partition::world();
  Chain chain;
  const at::Tensor before = chain.token();
  const Space X = Space(P, {3}).copied("world");

  const Vector y = between(X, X.sharded(0, "world"))(leaf(X, 1));
  const Vector constant = between(X, X.sharded(0, "world"))(random_vector(X, 1));

  EXPECT_EQ(y.local().requires_grad(), true);
  EXPECT_FALSE(constant.local().requires_grad());
  EXPECT_TRUE(chain.token().is_same(before));
}

TEST(Recording, NeedsAChainOnlyForWhatHasAGradient) {
  const Partition P = Partition::world();
  const Operator A = between(Space(P, {3}).partial("world"), Space(P, {3}));
  const Vector constant = random_vector(A.domain(), 1);
  const Vector x = leaf(A.domain(), 1);
  if (P.size() > 1) {
    EXPECT_ERROR(A(x), "AllReduce over world", "outside a chain", "riesz::Chain chain;");
    EXPECT_ERROR(A.start(x), "AllReduce over world", "outside a chain");
  }

  const Vector y = A(constant);
  const Vector z = A.start(constant).wait();
  const Vector u = together({A}, {constant}).front();

  const Chain chain;
  const at::Tensor expected = A(x).local();
  for (const Vector& each : {y, z, u}) {
    EXPECT_FALSE(each.local().requires_grad());
    EXPECT_SAME_BITS(each.local(), expected);
  }
}

/// ½|tanh(x V) W|² with V sharded by columns and W by rows: the gradients are those of one process.
TEST(Gradients, ThroughNonLinearMapsAreTheSerialOnes) {
  const Partition P = Partition::world();
  const Space X(P, {4, 3});
  const Space SV = Space(P, {3, 7}).sharded(1, "world");
  const Space SW = Space(P, {7, 2}).sharded(0, "world");
  const at::Tensor x = testing::random_part(Space(P, {4, 3}), 0, 1, true);
  const at::Tensor V = testing::random_part(Space(P, {3, 7}), 0, 2, true);
  const at::Tensor W = testing::random_part(Space(P, {7, 2}), 0, 3, true);
  const auto serial = [&] {
    const std::vector<at::Tensor> leaves{x.clone().requires_grad_(), V.clone().requires_grad_(),
                                         W.clone().requires_grad_()};
    leaves[0].matmul(leaves[1]).tanh().matmul(leaves[2]).pow(2).sum().div(2).backward();
    return leaves;
  }();

  const Chain chain;
  const Vector x_leaf(X, x.clone().requires_grad_());
  const Vector V_leaf(SV, distribute(SV, V).local().clone().requires_grad_());
  const Vector W_leaf(SW, distribute(SW, W).local().clone().requires_grad_());
  const at::Tensor copy = between(X, X.copied("world"))(x_leaf).local();
  const Space Y(P, {4, 2});
  const Vector y = between(
      Y.partial("world"), Y)({Y.partial("world"), copy.matmul(V_leaf.local()).tanh().matmul(W_leaf.local())});
  backward({Space(P, {}), y.local().pow(2).sum().div(2)});

  const auto expect_near = [](const Vector& found, const at::Tensor& global) {
    const at::Tensor expected = distribute(found.space(), global).local();
    EXPECT_TRUE(found.local().allclose(expected, 1e-13, 1e-13))
        << testing::text_of(found.local()) << "\nis not " << testing::text_of(expected);
  };
  expect_near(gradient(x_leaf), serial[0].grad());
  expect_near(gradient(V_leaf), serial[1].grad());
  expect_near(gradient(W_leaf), serial[2].grad());
}

}  // namespace
}  // namespace riesz
