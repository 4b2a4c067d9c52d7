// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Backward reaches every communication on every worker, in one order, whatever each worker does with its
// results.
#include "riesz/primitives/chain.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "random_spaces.h"
#include "riesz/comm/error.h"
#include "riesz/comm/thread.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

using testing::random_vector;
using testing::RandomSpaces;

TEST(Chain, IsTheInnermostOfTheThread) {
  EXPECT_EQ(Chain::current(), nullptr);
  {
    const Chain outer;
    EXPECT_EQ(Chain::current(), &outer);
    {
      const Chain inner;
      EXPECT_EQ(Chain::current(), &inner);
    }
    EXPECT_EQ(Chain::current(), &outer);
  }
  EXPECT_EQ(Chain::current(), nullptr);
}

/// A chain that lives on is of use after an error that was caught.
TEST(Chain, StartsAnewWhereBackwardThrows) {
  const Partition world = Partition::world().grid({{"w", Partition::world().size()}});
  const Space X(world, {3});
  const Operator A = between(X.partial("w"), X.copied("w"));
  const Vector x(A.domain(), at::ones({3}, at::kDouble).requires_grad_());
  const Vector ybar(dual(A.range()), at::ones({3}, at::kDouble));
  Chain chain;
  const Vector lost = A(x);
  chain.on_backward([] { throw Error("no step"); });
  const std::uint64_t recorded = chain.tape();

  EXPECT_ERROR(backward(lost, ybar), "no step");

  EXPECT_NE(chain.tape(), recorded);
  x.local().mutable_grad().reset();  // of what backward came to before
  backward(A(x), ybar);
  EXPECT_SAME_BITS(gradient(x).local(), at::full({3}, static_cast<double>(world.size()), at::kDouble));

  const Vector lost_too = A(x);
  chain.on_backward([] { throw Error("no step"); });
  EXPECT_ERROR(pullback(lost_too, ybar, {x}), "no step");
  const Vector xbar = pullback(A(x), ybar, {x})[0];
  EXPECT_SAME_BITS(xbar.local(), at::full({3}, static_cast<double>(world.size()), at::kDouble));
}

TEST(Chain, MayBeLeftWithinAScope) {
  Chain chain;
  chain.leave();
  {
    const Chain::Scope in(chain);
    chain.leave();
  }
  EXPECT_EQ(Chain::current(), nullptr);
}

TEST(Chain, IsLeftAndEnteredAgainInAnyOrder) {
  Chain one(3);
  Chain two;
  EXPECT_EQ(two.channel(), 3);  // the one that it was made in
  Chain three(5);
  EXPECT_EQ(current_channel(), 5);

  two.leave();
  EXPECT_EQ(Chain::current(), &three);
  one.leave();
  EXPECT_EQ(current_channel(), 5);
  three.leave();
  EXPECT_EQ(Chain::current(), nullptr);
  EXPECT_EQ(current_channel(), 0);
  {
    const Chain::Scope again(one);
    EXPECT_EQ(Chain::current(), &one);
    EXPECT_EQ(current_channel(), 3);
    EXPECT_ERROR(one.enter(), "this thread is in it already", "leave()");
    Thread([&] { EXPECT_ERROR(one.enter(), "another thread is in it already"); }).join();
    Thread([&] { EXPECT_ERROR(one.leave(), "this thread is not in it"); }).join();
  }
  EXPECT_EQ(Chain::current(), nullptr);
  EXPECT_ERROR(one.leave(), "this thread is not in it");
  Thread([&] { one.enter(); }).join();  // left at the thread's end
  one.enter();
  EXPECT_ERROR(Chain(-1), "a channel's number is from 0 to", "not -1");
}

/// What is recorded on several threads in turns goes back in exactly the reverse order, also what is not on
/// the chain.
TEST(Chain, IsRecordedByThreadsThatTakeTurns) {
  Chain chain;
  chain.leave();
  std::vector<int> order;
  int number = 0;
  at::Tensor x = at::ones({1}).requires_grad_();
  std::vector<at::Tensor> results;
  const auto turn = [&] {
    const Chain::Scope in(chain);
    for (int i = 0; i < 2; ++i, ++number) {
      chain.on_backward([&, mine = number] { order.push_back(2 * mine); });
      results.push_back(x.mul(2));  // its node hangs on nothing but x
      results.back().register_hook([&, mine = number](const at::Tensor&) { order.push_back(2 * mine + 1); });
    }
  };

  turn();
  {
    Thread other(turn);
    other.join();
    turn();
    Thread(turn).join();
  }
  const Chain::Scope in(chain);
  const Space S(Partition::world(), {1});
  std::vector<Vector> ys;
  for (const at::Tensor& result : results) ys.emplace_back(S, result);
  backward(ys, std::vector<Vector>(ys.size(), {S, at::ones({1})}));

  std::vector<int> reverse(16);
  std::iota(reverse.rbegin(), reverse.rend(), 0);
  EXPECT_EQ(order, reverse);
}

TEST(Chain, HandsOnEachTokenOnce) {
  Chain chain;
  const at::Tensor head = chain.head();
  EXPECT_EQ(head.numel(), 0);
  EXPECT_TRUE(head.requires_grad());
  EXPECT_TRUE(chain.token().is_same(head));

  chain.advance(at::ones({0}));
  EXPECT_FALSE(chain.token().is_same(head));
  EXPECT_TRUE(chain.head().is_same(head));

  chain.restart();
  EXPECT_FALSE(chain.head().is_same(head));
}

/// The sum over all workers of what each has of its own.
Vector total(const Partition& P, const at::Tensor& mine) {
  const Space scalar(P, {});
  Space terms = scalar;
  for (const Axis& axis : P.axes()) terms = terms.partial(axis.name);
  return between(terms, scalar)({terms, mine});
}

TEST(Chain, ReachesAWorkerThatDropsAResult) {
  const Partition P = Partition::world();
  const Space X = Space(P, {4});
  for (int dropping = 0; dropping < P.size(); ++dropping) {
    const Chain chain;
    const Vector x(X, random_vector(X, 1).local().requires_grad_());
    const Vector copy = between(X, X.copied("world"))(x);
    const Vector shards = between(X.copied("world"), X.sharded(0, "world"))(copy);
    const Vector gathered = between(X.sharded(0, "world"), X.copied("world"))(shards);

    const bool drops = P.rank() == dropping;
    backward(total(P, drops ? at::zeros({}, at::kDouble) : gathered.local().sum()));

    EXPECT_SAME_BITS(gradient(x).local(), at::full({4}, P.size() - 1., at::kDouble));
  }
}

TEST(Chain, ReachesAWorkerWithoutData) {
  const Partition P = Partition::world();
  const Space X = Space(P, {1, 2}).sharded(0, "world");  // all but one worker have nothing
  const Chain chain;
  const Vector x(X, random_vector(X, 1).local().requires_grad_());

  const Vector copy = between(X, X.copied("world"))(x);
  backward(total(P, copy.local().mul(P.rank() + 1).sum()));

  EXPECT_SAME_BITS(gradient(x).local(),
                   at::full(X.local_shape(), P.size() * (P.size() + 1) / 2., at::kDouble));
}

TEST(Chain, ReachesWorkersOfWhomNoneNeedsTheGradient) {
  const Partition P = Partition::world();
  const Space X = Space(P, {3});
  const Chain chain;
  const Vector constant = random_vector(X.partial("world"), 1);  // nowhere a leaf that requires a gradient
  const Vector x(X, random_vector(X, 2).local().requires_grad_(P.rank() == 0));

  const Vector sum = between(X.partial("world"), X)(constant);
  const Vector copy = between(X, X.copied("world"))(x);
  backward(total(P, sum.local().mul(copy.local()).sum()));

  if (P.rank() == 0) {
    EXPECT_TRUE(x.local().grad().allclose(sum.local().detach().mul(P.size()), 1e-14, 1e-14));
  }
}

TEST(Chain, ReachesWorkersOutsideAPartition) {
  const Partition world = Partition::world();
  const Partition root = world.subset({world.size() - 1});
  const Space X(root, {3});
  const Chain chain;
  const Vector x(X, random_vector(X, 1).local().requires_grad_());

  const Vector everywhere = between(X, Space(world, {3}).copied("world"))(x);
  backward(total(world, everywhere.local().mul(world.rank() + 1).sum()));

  EXPECT_SAME_BITS(gradient(x).local(),
                   at::full(X.local_shape(), world.size() * (world.size() + 1) / 2., at::kDouble));
}

/// A program of maps between spaces, alike on all workers, in which each worker uses its parts as it likes:
/// not at all, as they are, or through tanh. Placements are such that parts may differ, so every use is a
/// right one.
struct Program {
  struct Line {
    int input;
    Operator A;
    int use;    // of this worker: 0 dropped, 1 as it is, 2 through tanh
    bool read;  // does this worker's loss read it?
  };
  Space X;
  std::vector<Line> lines;
};

Program random_program(std::uint64_t seed) {
  RandomSpaces random(seed);
  std::mt19937 own(static_cast<unsigned>(seed) + 1000u * static_cast<unsigned>(Partition::world().rank()));
  const Space ground = random.shape(random.grid(Partition::world()));
  Program program{random.place(ground, {Placement::Replicated, Placement::Copied, Placement::Partial}), {}};
  std::vector<Space> spaces{program.X};
  for (int i = 0; i < 8; ++i) {
    const int input = random.any_of(static_cast<int>(spaces.size()));
    const Space Y = random.place(ground, {Placement::Copied, Placement::Partial});
    const int use = static_cast<int>(own() % 3);
    bool partial = false;
    for (const Axis& axis : Y.partition().axes())
      partial = partial || Y.placement(axis.name) == Placement::Partial;
    program.lines.push_back({input, between(spaces[static_cast<std::size_t>(input)], Y),
                             partial ? std::min(use, 1) : use, own() % 2 == 0});
    spaces.push_back(Y);
  }
  return program;
}

at::Tensor used(const at::Tensor& local, int use) {
  if (use == 0) return at::zeros(local.sizes(), local.options());
  return use == 1 ? local : local.tanh();
}

at::Tensor weight(const Space& Y, std::size_t line) { return random_vector(Y, 100 + line).local(); }

/// The gradient of the program's loss at x by its adjoints, called by hand in reverse order.
Vector by_hand(const Program& program, const Vector& x) {
  const at::NoGradGuard guard;
  std::vector<Vector> values{x};
  for (const Program::Line& line : program.lines) {
    const Vector y = line.A(values[static_cast<std::size_t>(line.input)]);
    values.emplace_back(y.space(), used(y.local(), line.use));
  }
  std::vector<at::Tensor> gradients;
  for (const Vector& value : values) gradients.push_back(at::zeros_like(value.local()));
  for (std::size_t i = program.lines.size(); i-- > 0;) {
    const Program::Line& line = program.lines[i];
    const Vector& y = values[i + 1];
    at::Tensor g = gradients[i + 1];
    if (line.read) g = g.add(weight(y.space(), i));
    if (line.use == 0) g = at::zeros_like(g);
    if (line.use == 2) g = g.mul(y.local().pow(2).neg().add(1));
    const Vector back = adjoint(line.A)(Vector(dual(y.space()), g));
    at::Tensor& sum = gradients[static_cast<std::size_t>(line.input)];
    sum = sum.add(back.local());
  }
  return {dual(x.space()), gradients.front()};
}

TEST(Chain, HoldsThroughRandomProgramsOfWorkersThatChooseForThemselves) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = random_program(seed);
    const Vector x(program.X, random_vector(program.X, seed).local().requires_grad_());
    const Chain chain;

    std::vector<Vector> values{x};
    at::Tensor mine = at::zeros({}, at::kDouble);
    for (std::size_t i = 0; i < program.lines.size(); ++i) {
      const Program::Line& line = program.lines[i];
      const Vector y = line.A(values[static_cast<std::size_t>(line.input)]);
      values.emplace_back(y.space(), used(y.local(), line.use));
      if (line.read) mine = mine.add(values.back().local().mul(weight(y.space(), i)).sum());
    }
    backward(total(program.X.partition(), mine));

    const Vector expected = by_hand(program, x);
    const Vector found = gradient(x);
    EXPECT_TRUE(found.local().allclose(expected.local(), 1e-12, 1e-12))
        << testing::text_of(found.local()) << "\nis not " << testing::text_of(expected.local());
  }
}

}  // namespace
}  // namespace riesz
