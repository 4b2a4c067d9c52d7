// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause

// The code of docs/guides/pointwise.md, on every grid of the workers.
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
#include "riesz/nn/pointwise/pointwise.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

Vector silu_times(const Vector& g, const Vector& u) {
  return pointwise("silu_times", [](auto x, auto y) { return x * sigmoid(x) * y; }, g, u);
}

Vector bias_relu(const Vector& h, const Vector& b) {
  return pointwise("bias_relu", "btc,c", [](auto x, auto y) { return max(x + y, 0.0); }, h, b);
}

const Activation relu_squared("relu_squared", [](auto x) { return square(max(x, 0.0)); });

/// (B, T, C) -> (B, T, C)
class GatedMlp : public Layer<GatedMlp> {
 public:
  explicit GatedMlp(OwnerAndName place, const ModelSpaces& spaces) : Layer(std::move(place), spaces) {}

  Vector forward(const Vector& x) { return down(gated(relu_squared, gate(x), up(x, "silu"))); }
  std::string describe() const override { return "gated MLP"; }

 private:
  Linear gate{*this, "gate", "btc,fc->btf"}, up{*this, "up", "btc,fc->btf"}, down{*this, "down", "btf,cf->btc"};
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

}  // namespace
}  // namespace riesz::testing
