// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Layers and losses on another device.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

Vector leaf_on(const Space& X, std::uint64_t seed, at::Device device) {
  return {X, random_vector(X, seed, true).local().to(device).requires_grad_()};
}

/// The value of f, and the gradients of all it is given, as leaves or parameters.
std::vector<at::Tensor> with_gradients(const std::function<Vector()>& f, std::vector<Vector> inputs,
                                       const std::vector<Parameter>& parameters = {}) {
  for (const Parameter& parameter : parameters) inputs.push_back(parameter.value());
  Chain chain;
  const Vector y = f();
  const Vector ybar(dual(y.space()), random_vector(dual(y.space()), 9, true).local().to(y.local().device()));
  std::vector<at::Tensor> results{y.local().detach()};
  for (const Vector& gradient : pullback(y, ybar, inputs)) results.push_back(gradient.local());
  return results;
}

TEST(OnADevice, LinearLayersAreThoseOfTheCpu) {
  const Space B(row(), {5, 7}), Y(row(), {5, 6});
  const Space W(row(), {7, 6});
  struct Laid {
    Space x, w, y;
    ContractionOptions options = {};
  };
  for (const Laid& layout : std::vector<Laid>{
           {B, W.sharded(1, "a"), Y.sharded(1, "a")},
           {B.sharded(1, "a"), W.sharded(0, "a"), Y},
           {B.sharded(0, "a"), W, Y.sharded(0, "a")},
           {B.sharded(0, "a"), W.sharded(0, "a"), Y.sharded(0, "a"), {.keep_w = true}},
           {B.sharded(0, "a"), W.sharded(1, "a"), Y.sharded(1, "a"), {.rounds = 3}},
       }) {
    SCOPED_TRACE(to_string(layout.w));
    expect_close_there([&](at::Device device) {
      Linear linear("linear", "bi,io->bo", layout.x, layout.w, layout.y, {.contraction = layout.options});
      linear.initialise(3, at::kDouble, device);
      const Vector x = leaf_on(layout.x, 1, device);
      return with_gradients([&] { return linear(x); }, {x}, linear.parameters());
    });
  }
}

TEST(OnADevice, WeightGradientsAreDeferred) {
  const Space X = Space(row(), {5, 7}).sharded(0, "a");
  const Space W = Space(row(), {7, 6});
  expect_close_there([&](at::Device device) {
    Linear linear("linear", "bi,io->bo", X, W, X.with_shape({5, 6}), {.bias = false});
    linear.initialise(3, at::kDouble, device);
    DeferredGradients later;
    Chain chain;
    const Vector y = linear(leaf_on(X, 1, device));
    backward(detail::add_shares(y.space(), {}, y.local().square().sum()));
    EXPECT_EQ(later.size(), 1U);
    later.compute();
    return std::vector<at::Tensor>{linear.parameters()[0].gradient().local()};
  });
}

TEST(OnADevice, NormsAreThoseOfTheCpu) {
  const Space X(row(), {5, 7});
  for (const Space& S : {X, X.sharded(0, "a"), X.sharded(1, "a")}) {
    SCOPED_TRACE(to_string(S));
    expect_close_there([&](at::Device device) {
      LayerNorm layer_norm("norm", S);
      layer_norm.initialise(3, at::kDouble, device);
      const Vector x = leaf_on(S, 1, device);
      return with_gradients([&] { return layer_norm(x); }, {x}, layer_norm.parameters());
    });
    expect_close_there([&](at::Device device) {
      RmsNorm rms_norm("norm", S);
      rms_norm.initialise(3, at::kDouble, device);
      const Vector x = leaf_on(S, 1, device);
      return with_gradients([&] { return rms_norm(x); }, {x}, rms_norm.parameters());
    });
  }
}

TEST(OnADevice, EmbeddingsAreThoseOfTheCpu) {
  const Space ids(row(), {5, 3});
  const Space W(row(), {11, 4});
  for (const Space& table : {W, W.sharded(0, "a"), W.sharded(1, "a")}) {
    for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
      SCOPED_TRACE(to_string(table));
      SCOPED_TRACE(type);
      expect_close_there([&](at::Device device) {
        Embedding embedding("table", ids, table, Space(row(), {5, 3, 4}));
        embedding.initialise(3, type, device);
        const Vector x(ids, at::arange(15, at::device(device).dtype(at::kLong)).remainder(11).view({5, 3}));
        return with_gradients([&] { return embedding(x); }, {}, embedding.parameters());
      });
    }
  }
}

TEST(OnADevice, AttentionIsThatOfTheCpu) {
  const Space Q(row(), {2, 7, 3, 4});
  const Space M(row(), {7, 7});
  for (const Space& S :
       {Q.sharded(2, "a"), Q.sharded(1, "a"), Q.sharded(1, "a", Split::zigzag(7, row().size()))}) {
    for (const int kind : {0, 1, 2, 3}) {
      SCOPED_TRACE(to_string(S) + ", kind " + std::to_string(kind));
      expect_close_there([&](at::Device device) {
        const Vector q = leaf_on(S, 1, device), k = leaf_on(S, 2, device), v = leaf_on(S, 3, device);
        std::vector<Vector> inputs{q, k, v};
        AttentionOptions options{.causal = kind % 2 == 1};
        if (kind == 2) options.mask = leaf_on(M, 4, device);
        if (kind == 2) inputs.push_back(*options.mask);
        if (kind == 3) options.mask = Vector(M, random_vector(M, 4).local().gt(-1).to(device));
        return with_gradients([&] { return attention(rotary(q), rotary(k), v, options); }, inputs);
      });
    }
  }
}

TEST(OnADevice, LossesAreThoseOfTheCpu) {
  const Space X(row(), {5, 7});
  for (const Space& S : {X, X.sharded(0, "a"), X.sharded(1, "a")}) {
    SCOPED_TRACE(to_string(S));
    expect_close_there([&](at::Device device) {
      const Vector x = leaf_on(S, 1, device);
      const Vector y(S, random_vector(S, 2, true).local().gt(0).to(device, at::kDouble));
      return with_gradients([&] { return bce_with_logits_loss(x, y).sum; }, {x});
    });
    expect_close_there([&](at::Device device) {
      const Vector x = leaf_on(S, 1, device);
      const at::Tensor targets = at::arange(-1, 4, at::device(device).dtype(at::kLong));
      const Space rows = S.dim_of(0) == 0 ? Space(row(), {5}).sharded(0, "a") : Space(row(), {5});
      return with_gradients(
          [&] { return cross_entropy(x, distribute(rows, targets), {.smoothing = 0.1, .z_loss = 0.01}).sum; },
          {x});
    });
  }
}

TEST(OnADevice, TwoDevicesInOneCallAreAnError) {
  const Space X(row(), {5, 7}), Y(row(), {5, 6});
  const Vector x = random_vector(X, 1, true);
  const std::string both = "vectors on two devices";
  const std::string remedy = "bring one to the other's";
  EXPECT_ERROR(pairing(there(x), x), "pairing of " + both, "on pretend:0", "on cpu", remedy);
  EXPECT_ERROR(x + there(x), "x + y of " + both, "on cpu", "on pretend:0", remedy);
  EXPECT_ERROR(there(x) - x, "x - y of " + both, remedy);

  Linear linear("linear", "bi,io->bo", X, Space(row(), {7, 6}).sharded(0, "a"), Y, {});
  linear.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(linear(x), "contract of " + both, "on cpu", "on pretend:0", remedy);
  LayerNorm layer_norm("norm", X);
  layer_norm.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(layer_norm(x), "LayerNorm of " + both, remedy);
  RmsNorm rms_norm("norm", X);
  rms_norm.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(rms_norm(x), "RmsNorm of " + both, remedy);
  const Vector ids(Space(row(), {5}), at::zeros({5}, at::kLong));
  Embedding embedding("table", ids.space(), Space(row(), {11, 4}).sharded(0, "a"), Space(row(), {5, 4}));
  embedding.initialise(3, at::kDouble, pretend_device());
  EXPECT_ERROR(embedding(ids), "Embedding of " + both, remedy);
  EXPECT_ERROR(cross_entropy(there(x), ids), "cross_entropy of " + both, remedy);
  EXPECT_ERROR(bce_with_logits_loss(there(x), x), "bce_with_logits_loss of " + both, remedy);
}

}  // namespace
}  // namespace riesz::testing
