// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What layers and functions of vectors give on a worker that they do not lie on says of the vector what its
// own workers know: its space, its type, and whether a gradient comes back. A pipeline reads that.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "riesz/nn/experts/experts.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

/// A worker that this one is not.
Partition another() { return Partition::simulated(2).grid({{"pp", 2}, {"tp", 1}}).at("pp", 1); }

Space rows() { return {another(), {3, 4}}; }

Vector constant() { return {rows(), at::empty({0}, at::kDouble), true}; }
Vector trained() { return {rows(), at::empty({0}, at::kDouble).requires_grad_()}; }

/// f of a constant and of what is trained, with gradients recorded and without. `own`: f has trained
/// parameters.
void expect_to_say(const std::string& what, const std::function<Vector(const Vector&)>& f, bool own) {
  SCOPED_TRACE(what);
  const Chain chain;
  const Vector x = trained(), c = constant();
  for (const Vector& each : {x, c}) {
    const Vector y = f(each);
    const bool varies = own || !each.is_constant();
    EXPECT_EQ(y.local().numel(), 0);
    EXPECT_EQ(y.local().requires_grad(), varies);
    EXPECT_FALSE(varies && y.is_constant());
    EXPECT_FALSE(y.local().is_same(each.local()));
  }
  const at::NoGradGuard no_gradient;
  EXPECT_FALSE(f(x).local().requires_grad());
}

TEST(Elsewhere, LayersSayWhatTheirWorkersKnow) {
  for (const bool frozen : {false, true}) {
    SCOPED_TRACE(frozen ? "frozen" : "trained");
    const auto ready = [&](Module& layer) {
      layer.initialise(1, at::kDouble);
      if (frozen) layer.freeze();
    };
    Linear linear("linear", "bi,io->bo", rows(), rows());
    RmsNorm rms_norm("rms_norm", rows(), 1e-5);
    LayerNorm layer_norm("layer_norm", rows(), 1e-5);
    Experts experts("experts", rows(), {"ep"}, {.experts = 2, .inner = 3});
    TopKGate gate("gate", another(), 2, {.k = 1});
    for (Module* each : {static_cast<Module*>(&linear), static_cast<Module*>(&rms_norm),
                         static_cast<Module*>(&layer_norm), static_cast<Module*>(&experts)})
      ready(*each);
    expect_to_say(
        "linear", [&](const Vector& x) { return linear(x); }, !frozen);
    expect_to_say(
        "rms norm", [&](const Vector& x) { return rms_norm(x); }, !frozen);
    expect_to_say(
        "layer norm", [&](const Vector& x) { return layer_norm(x); }, !frozen);
    const Routing routing = gate(Vector(Space(another(), {3, 2}), at::empty({0}, at::kDouble), true));
    expect_to_say(
        "experts", [&](const Vector& x) { return experts(x, routing); }, !frozen);
  }
}

/// A bias is stored in another type than the product has.
TEST(Elsewhere, AProductIsOfItsComputeType) {
  Linear linear("linear", "bi,io->bo", rows(), rows(), {.contraction = {.compute_type = at::kBFloat16}});
  linear.initialise(1, at::kDouble);
  const Chain chain;
  EXPECT_EQ(linear(trained()).local().scalar_type(), at::kBFloat16);
}

TEST(Elsewhere, FunctionsSayWhatTheirWorkersKnow) {
  const Vector v(Space(another(), {4}), at::empty({0}, at::kDouble), true);
  const auto expanded = [](const Vector& x) {
    return expand(Vector(Space(another(), {4}), x.local(), x.is_constant()), "c", rows(), "bc");
  };
  expect_to_say("expand", expanded, false);
  expect_to_say(
      "add", [&](const Vector& x) { return add(x, "bc", v, "c"); }, false);
  expect_to_say(
      "mul", [&](const Vector& x) { return mul(x, "bc", v, "c"); }, false);
  expect_to_say(
      "a multiple", [&](const Vector& x) { return 2 * x; }, false);
}

}  // namespace
}  // namespace riesz::testing
