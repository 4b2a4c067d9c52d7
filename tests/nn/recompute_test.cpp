// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Regions that run again in backward give the bits of plain calls, whatever uses what they take, give and
// read.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <tuple>

#include "recompute_program.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/between.h"

namespace riesz::testing {
namespace {

using Ys = std::vector<Vector>;

TEST(Recompute, OneAfterAnother) {
  expect_same_bits([](Net& n, const auto& way) { return Ys{way(n.b_(), way(n.a_(), n.x))}; });
}

/// Three uses of a's parameters, two of them in regions, and three of x: sums are added in one order.
TEST(Recompute, OfWhatIsUsedInsideAndOutside) {
  expect_same_bits([](Net& n, const auto& way) {
    const Vector y = way(n.a_(), n.a(n.x));
    return Ys{n.b(way(n.a_(), y)) + y + n.x, way(n.b_(), n.x) + way(n.b_(), n.x)};
  });
}

TEST(Recompute, Nested) {
  expect_same_bits([](Net& n, const auto& way) {
    const auto inner = [&n, way](const Vector& x) { return way(n.a_(), way(n.b_(), x)); };
    const auto outer = [&n, way, inner](const Vector& x) { return n.a(way(inner, n.b(x))) + x; };
    return Ys{way(n.b_(), way(outer, n.a(n.x)))};
  });
}

struct State {
  Vector hidden;
  std::optional<Vector> cell;
  int steps = 0;

  void each_vector(const auto& f) { f(hidden), f(cell); }
};

/// Structs, containers and numbers; results that are an input, that need no gradient, and that nobody uses.
TEST(Recompute, OfSeveralVectors) {
  expect_same_bits([](Net& n, const auto& way) {
    const Vector row =
        distribute(n.X.with_shape({kRows, kWidth}), at::arange(kRows * kWidth).view({kRows, kWidth}));
    const auto step = [&n](const State& from, const std::vector<Vector>& others, const Vector& numbers,
                           double c) {
      State to{n.a(from.hidden), c * n.b(*from.cell) + others.at(1), from.steps + 1};
      const Vector constant(numbers.space(), numbers.local().to(at::kDouble));
      return std::tuple(to, others.at(0), n.b(others.at(0)), constant, numbers);
    };
    const State first{n.x, n.a(n.x)};
    const auto [state, same, unused, constant, numbers] =
        way(step, first, std::vector<Vector>{n.a(n.x), n.b(n.x)}, row, 0.5);
    EXPECT_EQ(state.steps, 1);
    EXPECT_FALSE(constant.local().requires_grad());
    EXPECT_EQ(numbers.local().scalar_type(), at::kLong);
    return Ys{state.hidden + *state.cell, same, constant};
  });
}

/// A lambda's own vectors have gradients too, and are kept.
TEST(Recompute, OfVectorsThatARegionHolds) {
  expect_same_bits([](Net& n, const auto& way) {
    const Vector held = n.b(n.x);
    return Ys{way([&n, held](const Vector& x) { return n.a(x) + held * x; }, n.x) + held};
  });
}

TEST(Recompute, WhereNothingNeedsAGradient) {
  expect_same_bits([](Net& n, const auto& way) {
    const Vector constant(n.X, n.x.local().detach());
    way([&n](const Vector& x) { return Vector(x.space(), n.a(x).local().detach()); }, n.x);
    const auto product = [](const Vector& c, const Vector& x) { return c * x; };  // keeps c alone
    return Ys{way([](const Vector& x) { return 2 * x; }, constant) + way(product, constant, n.x)};
  });
}

TEST(Recompute, WithGradientsPutOff) {
  for (const Partition& mesh : meshes()) {
    Net net(mesh);
    const auto left = [&](const auto& way) {
      DeferredGradients later;
      const auto program = [](Net& n, const auto& by) { return Ys{n.a(by(n.a_(), by(n.b_(), n.x)))}; };
      Bits before = left_by(program, net, way);
      EXPECT_EQ(later.size(), 12U);
      later.compute();
      for (const at::Tensor& gradient : taken_gradients(net)) before.push_back(gradient);
      return before;
    };
    const Bits expected = left(Plainly());
    expect_bits(left(Again()), expected);
  }
}

/// Two micro-batches under way by turns, each in a channel of its own; the second goes back first.
TEST(Recompute, OfMicroBatchesByTurns) {
  for (const Partition& mesh : meshes()) {
    Net net(mesh, true);
    const auto left = [&](const auto& way) {
      Chain first(1);
      first.leave();
      Chain second(2);
      second.leave();
      std::vector<Vector> ys;
      const auto forward = [&](Chain& chain, std::int64_t step) {
        const Chain::Scope scope(chain);
        const ContextScope context(context_of(step));
        ys.push_back(way(net.b_(), way(net.a_(), net.x)));
      };
      const auto back = [&](Chain& chain, const Vector& y) {
        const Chain::Scope scope(chain);
        backward(y, distribute(dual(y.space()), draws(y.space().shape(), 4)));
      };
      forward(first, 0);
      forward(second, 1);
      back(second, ys[1]);
      forward(second, 2);
      back(first, ys[0]);
      back(second, ys[2]);
      return taken_gradients(net);
    };
    const Bits expected = left(Plainly());
    expect_bits(left(Again()), expected);
  }
}

/// A layer on one of the workers; the others have no part of it, and no rows.
TEST(Recompute, WhereSomeWorkersHaveNothing) {
  const Partition all = Partition::world();
  const Partition last = all.subset({all.size() - 1});
  const Space X(last, {2, 3}), Y = Space(all, {2, 4}).sharded(1, "world"), few = Space(all, {1, 4});
  Linear there("there", "bi,oi->bo", X, Space(last, {3, 3}), X);
  there.initialise(1, at::kDouble);
  const Vector x = leaf(X, draws({2, 3}, 1)),
               z = leaf(few.sharded(0, all.axes().front().name), draws({1, 4}, 2));
  const auto left = [&](const auto& way) {
    Chain chain;
    const auto on_one = [&](const Vector& v) { return there(there(v)); };
    const auto spread = [&](const Vector& v) { return between(z.space(), few)(2 * v); };
    const Vector y = way(on_one, x), w = way(spread, z);
    backward({y, w}, {distribute(dual(X), draws({2, 3}, 3)), distribute(dual(few), draws({1, 4}, 4))});
    Bits bits{y.local().detach(), w.local().detach(), x.local().grad(), z.local().grad()};
    for (const Parameter& parameter : there.parameters()) bits.push_back(parameter.leaf().grad());
    for (Parameter& parameter : there.parameters()) parameter.zero_gradient();
    x.local().mutable_grad().reset(), z.local().mutable_grad().reset();
    return bits;
  };
  const Bits expected = left(Plainly());
  expect_bits(left(Again()), expected);
}

TEST(Recompute, ReadsAsItsPageSays) {
  Net net(meshes().back());
  const auto program = [](Net& n, const auto&) {
    LayerNorm& norm = n.a.norm;
    Mlp& mlp = n.b;
    const Vector& x = n.x;
    const Vector y = recompute([&](const Vector& v) { return mlp(norm(v)); }, x);
    return Ys{y};
  };
  const auto plain = [](Net& n, const auto&) { return Ys{n.b(n.a.norm(n.x))}; };
  const Bits expected = left_by(plain, net, Plainly());
  expect_bits(left_by(program, net, Again()), expected);
}

TEST(Recompute, IsAPlainCallWhereNothingIsRecorded) {
  const at::NoGradGuard no_gradient;
  int calls = 0;
  const Vector x(Space(Partition::world(), {2}), at::arange(2, at::kDouble));
  const auto twice = [&](const Vector& v) { return ++calls, 2 * v; };
  EXPECT_TRUE(at::equal(recompute(twice, x).local(), x.local().mul(2)));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace riesz::testing
