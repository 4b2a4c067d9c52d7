// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Formula = std::function<at::Tensor(const at::Tensor&)>;

struct Activation {
  std::string name;
  Vector (*layer)(const Vector&);
  Formula torch;
  Formula formula;
};

std::vector<Activation> activations() {
  const double root_2_over_pi = std::sqrt(2 / 3.14159265358979323846);
  return {{"gelu", gelu, [](const at::Tensor& x) { return at::gelu(x, "tanh"); },
           [=](const at::Tensor& x) {
             const at::Tensor inner = x.pow(3).mul(0.044715).add(x).mul(root_2_over_pi);
             return x.mul(0.5).mul(inner.tanh().add(1));
           }},
          {"gelu_exact", gelu_exact, [](const at::Tensor& x) { return at::gelu(x, "none"); },
           [](const at::Tensor& x) { return x.mul(0.5).mul(x.div(std::sqrt(2.0)).erf().add(1)); }},
          {"relu", relu, at::relu, [](const at::Tensor& x) { return x.mul(x.gt(0)); }},
          {"silu", silu, at::silu, [](const at::Tensor& x) { return x.div(x.neg().exp().add(1)); }}};
}

void expect_as(const Activation& activation, const Formula& formula, const Space& X) {
  SCOPED_TRACE(activation.name + " in " + to_string(X));
  const at::Tensor global = draws(X.shape(), 1).mul(3).requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 2);
  const Vector x = leaf(X, global.detach());

  Chain chain;
  const Vector y = activation.layer(x);
  const Vector xbar = pullback(y, distribute(dual(X), ybar), {x}).front();

  const at::Tensor expected = formula(global);
  expected.backward(ybar);
  EXPECT_EQ(y.space(), X);
  EXPECT_TRUE(means(y, expected));
  EXPECT_TRUE(means(xbar, global.grad()));
}

TEST(Activation, IsItsFormula) {
  for (const Partition& mesh : meshes()) {
    for (const Activation& activation : activations()) {
      expect_as(activation, activation.formula, Space(mesh, {5, 3, 7}).sharded(0, "dp").sharded(2, "tp"));
    }
  }
}

TEST(Activation, IsTorchsWhereverTheVectorLies) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Space X = random.shape(random.grid(some_workers(random)));
    const Space placed = random.place(X, {Placement::Replicated, Placement::Copied});
    for (const Activation& activation : activations()) expect_as(activation, activation.torch, placed);
  }
}

TEST(Activation, KeepsHalfTypes) {
  const Space X = Space(Partition::world(), {50}).sharded(0, "world");
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor global = draws({50}, 1).to(type);
    for (const Activation& activation : activations()) {
      const Vector y = activation.layer(distribute(X, global));

      EXPECT_EQ(y.local().scalar_type(), type);
      EXPECT_TRUE(means(y, activation.torch(global.to(at::kDouble)).to(type), 0)) << activation.name;
    }
  }
}

TEST(Activation, NamesThePartialAxis) {
  const Space X = Space(Partition::simulated(2), {4}).partial("world");
  for (const Activation& activation : activations()) {
    EXPECT_ERROR(activation.layer(distribute(X, at::ones({4}))), activation.name + " of a vector",
                 "Partial on axis world", "reduce it first");
  }
}

}  // namespace
}  // namespace riesz::testing
