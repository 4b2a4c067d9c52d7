// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <gtest/gtest.h>

#include <vector>

#include "norms.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kEpsilon = 1e-2;  // so large that one outside the root would show

at::Tensor formula(const at::Tensor& x, const std::vector<at::Tensor>& p) {
  return x.div(x.square().mean(-1, true).add(kEpsilon).sqrt()).mul(p[0]);
}

at::Tensor torchs(const at::Tensor& x, const std::vector<at::Tensor>& p) {
  return at::rms_norm(x, {x.size(-1)}, p[0], kEpsilon);
}

void expect_dense(const Space& X, const at::Tensor& x) {
  expect_norm<RmsNorm>(X, x, torchs, kEpsilon);
  expect_norm<RmsNorm>(X, x, formula, kEpsilon);
}

TEST(RmsNorm, AndItsWeightsGradientAreTheDenseOnes) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : norm_layouts(mesh)) expect_dense(X, draws(X.shape(), 1).mul(3).add(1));
  }
}

TEST(RmsNorm, IsTorchsWhereverTheVectorLies) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X = Space(grid, {4, 3, 12}).unit(2, 1 + random.any_of(2));
    expect_dense(random.place(X, {Placement::Replicated}), draws(X.shape(), 1).mul(3).add(1));
  }
}

TEST(RmsNorm, OfHalfTypesIsTakenInFloat) {
  const Space X = Space(Partition::world(), {5, 3, 7}).sharded(2, "world");
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = draws({5, 3, 7}, 1).mul(300).to(type);  // in fp16 the squares would overflow
    RmsNorm norm("norm", X, kEpsilon);
    norm.initialise(1, type);

    Chain chain;
    const Vector y = norm(leaf(X, x));

    const at::Tensor exact = torchs(x.to(at::kDouble), {at::ones({7}, at::kDouble)});
    EXPECT_EQ(y.local().scalar_type(), type);
    EXPECT_TRUE(means(y, exact.to(type), type == at::kHalf ? 1e-3 : 8e-3));  // a last digit
  }
}

TEST(RmsNorm, OfAShardedDimAddsOneNumberARowEachWay) {
  const Partition P = Partition::world();
  const Space X = Space(P, {5, 3, 7}).sharded(2, "world"), R(P, {5, 3});
  RmsNorm norm("norm", X);
  norm.initialise(1, at::kDouble);
  const Vector x = leaf(X, draws(X.shape(), 1));
  Counters::instance().reset();

  Chain chain;
  const Vector y = norm(x);
  const Traffic forward = Counters::instance().total();
  pullback(y, distribute(X, draws(X.shape(), 2)), {x});

  EXPECT_EQ(forward.elements, between(R.partial("world"), R.copied("world")).traffic(P.rank()).elements);
  EXPECT_EQ(Counters::instance().total(), forward + forward);
}

TEST(RmsNorm, StartsAtOneAndDoesNotDecay) {
  RmsNorm norm("norm", Space(Partition::simulated(2), {4, 6}).sharded(1, "world"));
  norm.initialise(1, at::kDouble);
  const std::vector<Parameter> parameters = norm.parameters();

  ASSERT_EQ(parameters.size(), 1U);
  EXPECT_EQ(parameters[0].name(), "norm.weight");
  EXPECT_TRUE(parameters[0].value().local().eq(1).all().item<bool>());
  EXPECT_FALSE(parameters[0].decays());
  EXPECT_EQ(parameters[0].space(), Space(Partition::simulated(2), {6}).sharded(0, "world"));
}

TEST(RmsNorm, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {4, 6});

  EXPECT_ERROR(RmsNorm("norm", Space(P, {4, Space::any})), "RmsNorm norm", "is of any extent");
  RmsNorm norm("norm", X);
  norm.initialise(1, at::kDouble);
  EXPECT_ERROR(norm(distribute(X.sharded(0, "world"), at::ones({4, 6}))), "RmsNorm norm takes vectors of");
  RmsNorm of_partial("norm", X.partial("world"));
  of_partial.initialise(1, at::kDouble);
  EXPECT_ERROR(of_partial(distribute(X.partial("world"), at::ones({4, 6}))), "RmsNorm norm",
               "Partial on axis world", "reduce it first");
}

}  // namespace
}  // namespace riesz::testing
