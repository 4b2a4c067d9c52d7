// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "norms.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kEpsilon = 1e-5;

/// (x − mean)/√(var + ε)·w + b over the last dim, by its formula; recorded.
at::Tensor formula(const at::Tensor& x, const std::vector<at::Tensor>& p) {
  const at::Tensor centred = x.sub(x.mean(-1, true));
  return centred.div(centred.square().mean(-1, true).add(kEpsilon).sqrt()).mul(p[0]).add(p[1]);
}

at::Tensor torchs(const at::Tensor& x, const std::vector<at::Tensor>& p) {
  return at::layer_norm(x, {x.size(-1)}, p[0], p[1], kEpsilon);
}

void expect_dense(const Space& X, const at::Tensor& x) {
  expect_norm<LayerNorm>(X, x, torchs, kEpsilon);
  expect_norm<LayerNorm>(X, x, formula, kEpsilon);
}

TEST(LayerNorm, AndItsWeightsGradientsAreTheDenseOnes) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : norm_layouts(mesh)) expect_dense(X, draws(X.shape(), 1).mul(3).add(1));
  }
}

TEST(LayerNorm, IsTorchsWhereverTheVectorLies) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X = Space(grid, {4, 3, 12}).unit(2, 1 + random.any_of(2));
    const Space placed = random.place(X, {Placement::Replicated});
    expect_dense(placed, draws(X.shape(), 1).mul(3).add(1));
  }
}

TEST(LayerNorm, TakesPiecesOfSeveralIntervals) {
  const Partition world = Partition::world();
  const Space X = Space(world, {4, 13}).sharded(1, "world", Split::zigzag(13, world.size()));

  expect_dense(X, draws(X.shape(), 1));
}

/// mean(x²) − mean(x)²: one pass, and of x² the digits that hold the variance are lost.
double one_pass_error(const at::Tensor& x) {
  const at::Tensor variance = x.square().mean(-1).sub(x.mean(-1).square());
  const at::Tensor exact = x.sub(x.mean(-1, true)).square().mean(-1);
  return variance.sub(exact).abs().max().item<double>();
}

TEST(LayerNorm, KeepsItsDigitsBesideALargeCommonOffset) {
  const at::Tensor x = draws({5, 3, 7}, 1).add(1e6);
  ASSERT_GT(one_pass_error(x), 1e-6) << "this x would not show a variance taken in one pass";
  for (const Partition& mesh : meshes()) {
    for (const Space& X : norm_layouts(mesh)) {
      // x itself has the relative precision 1e-16, so x − mean has 1e-10
      expect_norm<LayerNorm>(X, x, torchs, kEpsilon, 2e-9);
    }
  }
}

TEST(LayerNorm, OfHalfTypesIsTakenInFloat) {
  const Space X = Space(Partition::world(), {5, 3, 7}).sharded(2, "world");
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = draws({5, 3, 7}, 1).add(4).to(type);
    LayerNorm norm("ln", X, kEpsilon);
    norm.initialise(1, type);

    Chain chain;
    const Vector y = norm(leaf(X, x));

    const at::Tensor exact =
        torchs(x.to(at::kDouble), {at::ones({7}, at::kDouble), at::zeros({7}, at::kDouble)});
    EXPECT_EQ(y.local().scalar_type(), type);
    EXPECT_TRUE(means(y, exact.to(type), type == at::kHalf ? 1e-3 : 8e-3));  // a last digit
  }
}

TEST(LayerNorm, OfAShardedDimAddsTwoNumbersARowEachWay) {
  const Partition P = Partition::world();
  const Space X = Space(P, {5, 3, 7}).sharded(2, "world"), R(P, {5, 3});
  LayerNorm norm("ln", X, kEpsilon);
  norm.initialise(1, at::kDouble);
  const Vector x = leaf(X, draws(X.shape(), 1));
  Counters::instance().reset();

  Chain chain;
  const Vector y = norm(x);
  const Traffic forward = Counters::instance().total();
  pullback(y, distribute(X, draws(X.shape(), 2)), {x});

  const Traffic one = between(R.partial("world"), R.copied("world")).traffic(P.rank());
  EXPECT_EQ(forward.elements, 2 * one.elements);
  EXPECT_EQ(forward.messages, 2 * one.messages);
  EXPECT_EQ(Counters::instance().total(), forward + forward);
}

TEST(LayerNorm, StartsAtOneAndZeroAndDoesNotDecay) {
  for (const int dim : {0, 1}) {
    const Space X = Space(Partition::simulated(2), {4, 6}).sharded(dim, "world");
    LayerNorm norm("ln", X);
    norm.initialise(1, at::kDouble);
    const std::vector<Parameter> parameters = norm.parameters();

    ASSERT_EQ(parameters.size(), 2U);
    EXPECT_EQ(parameters[0].name(), "ln.weight");
    EXPECT_EQ(parameters[1].name(), "ln.bias");
    EXPECT_TRUE(parameters[0].value().local().eq(1).all().item<bool>());
    EXPECT_TRUE(parameters[1].value().local().eq(0).all().item<bool>());
    for (const Parameter& parameter : parameters) {
      EXPECT_FALSE(parameter.decays());
      EXPECT_EQ(parameter.space().placement("world"), dim == 1 ? Placement::Sharded : Placement::Replicated);
    }
  }
}

TEST(LayerNorm, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {4, 6});

  EXPECT_ERROR(LayerNorm("ln", Space(P, {4, Space::any})), "LayerNorm ln", "is of any extent");
  EXPECT_ERROR(LayerNorm("ln", Space(P, {})), "LayerNorm ln normalises over the last dim, which () on");
  const Split halo = Split::covering(6, {{{0, 4}}, {{3, 6}}});
  EXPECT_ERROR(LayerNorm("ln", X.sharded(1, "world", halo)), "LayerNorm ln", "whose split overlaps",
               "(4, 6) on", "count twice");
  LayerNorm norm("ln", X);
  norm.initialise(1, at::kDouble);
  EXPECT_ERROR(norm(distribute(X.sharded(0, "world"), at::ones({4, 6}))), "LayerNorm ln takes vectors of");
  LayerNorm of_partial("ln", X.partial("world"));
  of_partial.initialise(1, at::kDouble);
  EXPECT_ERROR(of_partial(distribute(X.partial("world"), at::ones({4, 6}))), "LayerNorm ln",
               "Partial on axis world", "reduce it first");
  LayerNorm of_copied("ln", X.copied("world"));
  of_copied.initialise(1, at::kDouble);
  EXPECT_ERROR(of_copied(distribute(X.copied("world"), at::ones({4, 6}, at::kDouble))),
               "Copied on axis world", "between(X, Y)");
}

}  // namespace
}  // namespace riesz::testing
