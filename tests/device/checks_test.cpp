// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Layers and losses on a device read nothing on the host. What is wrong with their values is NaN at once, and
// an error later.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/context.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"a", 1}}); }

std::vector<double> numbers(const at::Tensor& x) {
  const at::Tensor here = x.detach().cpu().to(at::kDouble).contiguous();
  return {here.const_data_ptr<double>(), here.const_data_ptr<double>() + here.numel()};
}

bool all_nan(const at::Tensor& x) { return x.detach().cpu().isnan().all().item<bool>(); }

class OnADeviceWrong : public ::testing::Test {
 protected:
  void TearDown() override { settle_late_checks(); }
};

TEST_F(OnADeviceWrong, IdsAreNanAndThenAnError) {
  for (const std::int64_t wrong : {std::int64_t{11}, std::int64_t{-3}}) {
    for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
      for (const bool sharded : {false, true}) {
        SCOPED_TRACE(wrong);
        SCOPED_TRACE(type);
        SCOPED_TRACE(sharded);
        const Partition P = sharded ? row() : alone();
        const Space X(P, {3}), W(P, {11, 2});
        Embedding embedding("table", X, sharded ? W.sharded(0, "a") : W, Space(P, {3, 2}));
        embedding.initialise(3, type, pretend_device());
        Chain chain;
        const at::Tensor good = at::tensor({4, 0, 9}),
                         bad = at::tensor(std::vector<std::int64_t>{4, wrong, 9});
        const at::Tensor expected = embedding(Vector(X, good.to(pretend_device()))).local().cpu();
        const at::Tensor there = bad.to(pretend_device());
        std::optional<NoHostReads> none;
        if (!sharded) none.emplace();

        const Vector y = embedding(Vector(X, there));
        none.reset();

        EXPECT_TRUE(all_nan(y.local().select(0, 1)));
        for (const std::int64_t row : {0, 2})
          EXPECT_SAME_BITS(y.local().detach().select(0, row).cpu(), expected.select(0, row));
        EXPECT_ERROR(settle_late_checks(),
                     "Embedding table: the id " + std::to_string(wrong) + " is outside the vocabulary of 11");
        EXPECT_NO_THROW(settle_late_checks());
      }
    }
  }
}

TEST_F(OnADeviceWrong, TargetsAreNanAndThenAnError) {
  for (const int way : {0, 1, 2}) {
    SCOPED_TRACE(way);
    const Space X(row(), {5, 7}), T(row(), {5});
    const Space S = way == 0 ? X : X.sharded(way == 1 ? 0 : 1, "a"),
                of_targets = way == 1 ? T.sharded(0, "a") : T;
    const at::Tensor all = at::tensor({-1, 3, 8, 0, 6});
    const Vector targets = distribute(of_targets, all.to(pretend_device()));
    const Vector x(S, random_vector(S, 1, true).local().to(pretend_device()).requires_grad_());
    Chain chain;
    const Vector loss = cross_entropy(x, targets).mean();
    backward(loss);

    EXPECT_TRUE(all_nan(loss.local()));
    const at::Tensor gradient = x.local().grad().cpu();
    const bool has_it = way != 1 || targets.local().cpu().eq(8).any().item<bool>();
    EXPECT_EQ(gradient.isnan().any().item<bool>(), has_it && gradient.numel() > 0);
    const std::string which = has_it ? "the target 8" : "a target of another worker";
    EXPECT_ERROR(settle_late_checks(),
                 "cross_entropy: " + which + " is outside the vocabulary of 7 and not the ignored -1");
    EXPECT_NO_THROW(settle_late_checks());
  }
}

TEST_F(OnADeviceWrong, ProbabilitiesAreNanAndThenAnError) {
  const Space X(alone(), {3});
  for (const double wrong : {1.5, -0.25, std::nan("")}) {
    SCOPED_TRACE(wrong);
    const Vector p(X, at::tensor({0.5, wrong, 1.0}, at::kDouble).to(pretend_device()).requires_grad_());
    const Vector y(X, at::tensor({1.0, 0.0, 1.0}, at::kDouble).to(pretend_device()));
    std::optional<NoHostReads> none(std::in_place);
    Chain chain;
    const Loss loss = bce_loss(p, y);
    backward(loss.mean());
    none.reset();
    EXPECT_TRUE(all_nan(loss.sum.local()));
    EXPECT_TRUE(p.local().grad().cpu().isnan().any().item<bool>());
    EXPECT_ERROR(settle_late_checks(), "bce_loss: the probability", "is not between 0 and 1");
  }
}

TEST(OnADevice, ALossCountsThere) {
  const Space X(row(), {5, 7}), T(row(), {5});
  for (const bool sharded : {false, true}) {
    const Space S = sharded ? X.sharded(0, "a") : X, of_targets = sharded ? T.sharded(0, "a") : T;
    for (const std::vector<std::int64_t>& all :
         {std::vector<std::int64_t>{-1, 3, 2, 0, 6}, std::vector<std::int64_t>(5, -1)}) {
      for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
        const at::Tensor local = random_vector(S, 1, true).local().to(type);
        const Loss here = cross_entropy({S, local}, distribute(of_targets, at::tensor(all)));
        const Loss there = cross_entropy({S, local.to(pretend_device())},
                                         distribute(of_targets, at::tensor(all).to(pretend_device())));
        EXPECT_EQ(there.count, static_cast<std::int64_t>(here.count));
        EXPECT_EQ(there.mean().local().scalar_type(), here.mean().local().scalar_type());
        EXPECT_NEAR(numbers(there.mean().local())[0], numbers(here.mean().local())[0],
                    type == at::kDouble ? 1e-12 : 1e-5);
        expect_there(
            there.count.divide({Space(row(), {}), at::full({}, 0.3, type).to(pretend_device())}).local(),
            here.count.divide({Space(row(), {}), at::full({}, 0.3, type)}).local());
      }
    }
  }
}

/// A step of a small model, forward and backward.
std::vector<at::Tensor> step_of_layers(at::Device device, at::ScalarType type) {
  const Partition P = alone();
  const Space ids(P, {2, 6}), wide(P, {2, 6, 8}), heads(P, {2, 6, 2, 4});
  Embedding table("table", ids, Space(P, {11, 8}), wide);
  LayerNorm norm("norm", wide);
  RmsNorm other_norm("other_norm", wide);
  Linear up("up", "btc,chd->bthd", wide, Space(P, {8, 2, 4}), heads, {});
  Linear out("out", "bthd,hdv->btv", heads, Space(P, {2, 4, 11}), Space(P, {2, 6, 11}), {});
  const Dropout drop("drop", 0.25), attention_drop("attention_drop", 0.25);
  std::vector<Parameter> parameters;
  const auto begun = [&](auto& layer) {
    layer.initialise(3, type, device);
    for (const Parameter& parameter : layer.parameters()) parameters.push_back(parameter);
  };
  begun(table), begun(norm), begun(other_norm), begun(up), begun(out);
  const at::Tensor tokens = at::arange(12, at::kLong).remainder(11).view({2, 6}).to(device);
  const at::Tensor next = at::arange(-1, 11, at::kLong).view({2, 6}).to(device);
  const Vector mask(Space(P, {6, 6}), random_vector(Space(P, {6, 6}), 4).local().gt(-1).to(device));
  const Vector seen(ids, at::arange(12, at::kLong).view({2, 6}).ne(7).to(device));
  const ContextScope context({.training = true, .seed = 5, .step = 2});

  const auto step = [&] {
    Chain chain;
    const Vector x = drop.forward(norm(table(Vector(ids, tokens))));
    const Vector q = rotary(up(x)), k = up(other_norm(x));
    Vector y = attention(q, k, q, {.causal = true, .dropout = &attention_drop});
    y = y + attention(q, k, y, {.causal = true, .seen = seen});
    y = y + attention(q, k, y, {.mask = mask});
    const Loss loss = cross_entropy(out(silu(y)), Vector(ids, next), {.smoothing = 0.1, .z_loss = 0.01});
    const Vector mean = loss.mean();
    backward(mean);
    return mean.local().detach();
  };
  std::vector<at::Tensor> results{step()};  // rotary's table is made and sent once
  for (const Parameter& parameter : parameters) parameter.value().local().mutable_grad().reset();
  {
    const NoHostReads none;
    results.front() = step();
  }
  settle_late_checks();
  for (const Parameter& parameter : parameters) results.push_back(parameter.gradient().local().clone());
  return results;
}

TEST(OnADevice, LayersReadNothingOnTheHost) {
  expect_close_there([](at::Device device) { return step_of_layers(device, at::kDouble); });
  step_of_layers(pretend_device(), at::kBFloat16);
}

}  // namespace
}  // namespace riesz::testing
