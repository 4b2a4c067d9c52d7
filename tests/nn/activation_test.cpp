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
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/vectors/arithmetic.h"
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

/// The values and the gradients of f of the leaves, all added to a list.
std::vector<Vector> with_gradients(const std::function<Vector()>& f, const Space& Y,
                                   const std::vector<Vector>& leaves) {
  Chain chain;
  const Vector y = f();
  std::vector<Vector> all = pullback(y, distribute(dual(Y), draws(Y.shape(), 9)), leaves);
  all.push_back(y);
  return all;
}

void expect_alike(const std::vector<Vector>& found, const std::vector<Vector>& wanted) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].space(), wanted[i].space());
    EXPECT_TRUE(is_close(found[i].local(), wanted[i].local())) << i;
  }
}

TEST(Activation, OfALinearIsThatOfItsValue) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {4, 3, 6}).sharded(0, "dp"),
                Y = Space(mesh, {4, 3, 8}).sharded(0, "dp").sharded(2, "tp");
    for (const bool bias : {true, false}) {
      Linear linear("up", "bti,io->bto", X, Y, {.bias = bias});
      linear.initialise(1, at::kDouble);
      std::vector<Vector> leaves{leaf(X, draws({4, 3, 6}, 1))};
      leaves.push_back(set(linear.parameters()[0], draws({6, 8}, 2)));
      if (bias) leaves.push_back(set(linear.parameters()[1], draws({8}, 3)));
      for (const Activation& a : activations())
        expect_alike(with_gradients([&] { return linear(leaves[0], a.name); }, Y, leaves),
                     with_gradients([&] { return a.layer(linear(leaves[0])); }, Y, leaves));
    }
  }
}

TEST(Activation, GatedIsItsProduct) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {4, 3, 8}).sharded(0, "dp").sharded(2, "tp");
    const std::vector<Vector> leaves{leaf(X, draws(X.shape(), 1)), leaf(X, draws(X.shape(), 2))};
    for (const Activation& a : activations())
      expect_alike(with_gradients([&] { return gated(a.name, leaves[0], leaves[1]); }, X, leaves),
                   with_gradients([&] { return a.layer(leaves[0]) * leaves[1]; }, X, leaves));
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
