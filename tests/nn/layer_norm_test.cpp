// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layer_norm.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kEpsilon = 1e-5;

/// (x − mean)/√(var + ε)·w + b over the last dim, by its formula; recorded.
at::Tensor formula(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  const at::Tensor centred = x.sub(x.mean(-1, true));
  return centred.div(centred.square().mean(-1, true).add(kEpsilon).sqrt()).mul(w).add(b);
}

void expect_dense(const Space& X) {
  SCOPED_TRACE("in " + to_string(X));
  LayerNorm norm("ln", X.with_shape({Space::any, Space::any, 6}), kEpsilon);
  norm.initialise(1, at::kDouble);
  const at::Tensor x_global = draws(X.shape(), 1).mul(3).add(1).requires_grad_();
  const at::Tensor w_global = draws({6}, 2).requires_grad_();
  const at::Tensor b_global = draws({6}, 3).requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 4);
  const Vector x = leaf(X, x_global.detach());
  const Vector w = set(norm.parameters()[0], w_global.detach());
  const Vector b = set(norm.parameters()[1], b_global.detach());

  Chain chain;
  const Vector y = norm(x);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(X), ybar), {x, w, b});

  const at::Tensor expected = formula(x_global, w_global, b_global);
  expected.backward(ybar);
  EXPECT_TRUE(means(y, expected));
  EXPECT_TRUE(means(gradients[0], x_global.grad(), 1e-11));
  EXPECT_TRUE(means(gradients[1], w_global.grad()));
  EXPECT_TRUE(means(gradients[2], b_global.grad()));
}

TEST(LayerNorm, AndItsWeightsGradientsAreTheDenseOnes) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {5, 3, 6});

    expect_dense(X);
    expect_dense(X.sharded(0, "dp"));
    expect_dense(X.sharded(0, "dp").sharded(1, "tp"));  // sequence parallel
    expect_dense(X.sharded(1, "tp").sharded(1, "dp"));  // more workers than rows
  }
}

TEST(LayerNorm, StartsAtOneAndZeroAndDoesNotDecay) {
  LayerNorm norm("ln", Space(Partition::simulated(2), {4, 6}).sharded(0, "world"));
  norm.initialise(1, at::kDouble);
  const std::vector<Parameter> parameters = norm.parameters();

  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[0].name(), "ln.weight");
  EXPECT_EQ(parameters[1].name(), "ln.bias");
  EXPECT_TRUE(parameters[0].value().local().eq(1).all().item<bool>());
  EXPECT_TRUE(parameters[1].value().local().eq(0).all().item<bool>());
  EXPECT_FALSE(parameters[0].decays());
  EXPECT_FALSE(parameters[1].decays());
}

TEST(LayerNorm, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {4, 6});

  EXPECT_ERROR(LayerNorm("ln", X.sharded(1, "world")),
               "LayerNorm ln normalises over the last dim, which axis world shards", "(4, 6) on (world=2)",
               "between(X, Y)");
  EXPECT_ERROR(LayerNorm("ln", Space(P, {4, Space::any})), "LayerNorm ln", "is of any extent");
  LayerNorm norm("ln", X);
  norm.initialise(1, at::kDouble);
  EXPECT_ERROR(norm(distribute(X.sharded(0, "world"), at::ones({4, 6}))), "LayerNorm ln takes vectors of");
  LayerNorm of_partial("ln", X.partial("world"));
  of_partial.initialise(1, at::kDouble);
  EXPECT_ERROR(of_partial(distribute(X.partial("world"), at::ones({4, 6}))), "LayerNorm ln",
               "Partial on axis world", "reduce it first");
}

}  // namespace
}  // namespace riesz::testing
