// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause

// The code of docs/guides/pointwise.md, on every grid of the workers.
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/layout/layout.h"
#include "riesz/nn/pointwise/pointwise.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

Vector silu_times(const Vector& g, const Vector& u) {
  return pointwise(
      "silu_times", [](auto x, auto y) { return x * sigmoid(x) * y; }, g, u);
}

Vector bias_relu(const Vector& h, const Vector& b) {
  return pointwise(
      "bias_relu", "btc,c", [](auto x, auto y) { return max(x + y, 0.0); }, h, b);
}

const Activation relu_squared("relu_squared", [](auto x) { return square(max(x, 0.0)); });

/// (B, T, C) -> (B, T, C)
class GatedMlp : public Layer<GatedMlp> {
 public:
  explicit GatedMlp(OwnerAndName place, const ModelSpaces& spaces) : Layer(std::move(place), spaces) {}

  Vector forward(const Vector& x) { return down(gated(relu_squared, gate(x), up(x))); }
  std::string describe() const override { return "gated MLP"; }

 private:
  Linear gate{*this, "gate", "btc,fc->btf"}, up{*this, "up", "btc,fc->btf"},
      down{*this, "down", "btf,fc->btc"};
};

TEST(PointwisePage, FormulasAreTorchs) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {2, 3, 7}).sharded(0, "dp").sharded(2, "tp");
    const Space C = Space(mesh, {7}).sharded(0, "tp");
    expect_as_global(
        {X, X}, [](const Vectors& x) { return silu_times(x[0], x[1]); },
        [](const Tensors& x) { return at::silu(x[0]).mul(x[1]); });
    expect_as_global(
        {X, C}, [](const Vectors& x) { return bias_relu(x[0], x[1]); },
        [](const Tensors& x) { return at::relu(x[0].add(x[1])); });
    expect_as_global(
        {X}, [](const Vectors& x) { return activate(relu_squared, x[0]); },
        [](const Tensors& x) { return at::relu(x[0]).square(); });
  }
}

TEST(PointwisePage, TheMlpIsTorchs) {
  const Roles roles{
      {'b', {Role::batch}}, {'t', {Role::sequence}}, {'c', {Role::width, 6}}, {'f', {Role::inner, 8}}};
  for (const Partition& mesh : meshes()) {
    GatedMlp mlp("mlp", ModelSpaces(spaces::one_d(mesh), roles));
    mlp.initialise(1, at::kDouble);
    Tensors of;
    for (const Parameter& parameter : mlp.parameters()) {
      of.push_back(draws(parameter.space().shape(), 2 + of.size()));
      set(parameter, of.back());
    }
    const Space X = mlp.spaces().stream("btc").with_shape({4, 3, 6});
    const at::Tensor x = draws({4, 3, 6}, 1);
    const Chain chain;
    const Vector y = mlp(distribute(X, x));

    const auto linear = [&](const at::Tensor& in, std::size_t i) {
      return at::matmul(in, of[i].t()).add(of[i + 1]);
    };
    const at::Tensor inner = at::relu(linear(x, 0)).square().mul(linear(x, 2));
    EXPECT_TRUE(means(y, at::matmul(inner, of[4]).add(of[5])));
  }
}

}  // namespace
}  // namespace riesz::testing
