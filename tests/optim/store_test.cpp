// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/store.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <gtest/gtest.h>

#include "layouts.h"
#include "riesz/optim/adam.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

Parameter ones(const std::string& name, std::vector<std::int64_t> shape, at::ScalarType type) {
  Parameter parameter(name, Space(Partition::simulated(1), std::move(shape)), {Initial::ones(), true});
  parameter.initialise(1, type);
  return parameter;
}

TEST(Whole, IsAViewWhereItCanBe) {
  const Parameter w = ones("w", {2, 3}, at::kFloat);
  const at::Tensor leaf = w.value().local();
  leaf.mutable_grad() = at::full_like(leaf.detach(), 2);
  const auto store = whole({w});

  const Share share = store->shares().at(0);

  EXPECT_TRUE(share.value.is_alias_of(leaf));
  EXPECT_TRUE(share.gradient.is_alias_of(leaf.grad()));
  EXPECT_FALSE(share.value.requires_grad());
  EXPECT_EQ(share.value.numel(), 6);
  EXPECT_EQ(share.begin, 0);
  EXPECT_TRUE(share.counted);
}

TEST(Whole, RefusesWhatIsFrozenLater) {
  Parameter w = ones("w", {4}, at::kFloat);
  const auto store = whole({w});
  w.freeze();
  EXPECT_ERROR(store->shares(), "the parameter w was frozen after its optimizer was made", "freeze first");
}

TEST(Whole, KeepsMastersOfHalfValues) {
  const Parameter w = ones("w", {4}, at::kBFloat16);
  const auto store = whole({w});
  for (int i = 0; i < 16; ++i) {
    store->shares()[0].value.add_(0.001);  // each too little for bf16 to see
    store->updated();
  }
  EXPECT_NEAR(store->shares()[0].value[0].item<double>(), 1.016, 1e-6);
  EXPECT_EQ(w.value().local()[0].item<float>(), 1.015625F);
  EXPECT_EQ(store->shares()[0].value.scalar_type(), at::kFloat);

  const at::NoGradGuard no_gradient;
  w.value().local().fill_(3);  // as loading a checkpoint does
  EXPECT_EQ(store->shares()[0].value[0].item<float>(), 3);
}

TEST(Whole, KeepsWhatWasDoneToACopiedGradient) {
  const Parameter w = ones("w", {4}, at::kHalf);
  const auto store = whole({w});
  const at::Tensor leaf = w.value().local();
  leaf.mutable_grad() = at::full_like(leaf.detach(), 8);
  store->shares()[0].gradient.mul_(0.5);
  EXPECT_EQ(store->shares()[0].gradient[0].item<float>(), 4);

  leaf.mutable_grad() = at::full_like(leaf.detach(), 2);
  EXPECT_EQ(store->shares()[0].gradient[0].item<float>(), 2);

  store->zero_gradients();
  EXPECT_FALSE(leaf.grad().defined());
  EXPECT_EQ(store->shares()[0].gradient.abs().sum().item<float>(), 0);
}

TEST(Whole, IsRowMajorWhereMemoryIsNot) {
  const Parameter w = ones("w", {2, 3}, at::kDouble);
  const at::Tensor leaf = w.value().local();
  const at::NoGradGuard no_gradient;
  leaf.set_data(at::arange(6, at::kDouble).view({3, 2}).t());
  leaf.mutable_grad() = leaf.detach().clone();
  ASSERT_FALSE(leaf.is_contiguous());
  const auto store = whole({w});

  const Share share = store->shares()[0];
  EXPECT_SAME_BITS(share.value, leaf.detach().contiguous().view({-1}));
  EXPECT_SAME_BITS(share.gradient, share.value);
  share.value.mul_(2);
  store->updated();
  EXPECT_SAME_BITS(leaf.detach().contiguous().view({-1}), share.gradient.mul(2));
}

TEST(Whole, IsCountedOnce) {
  for (const Partition& mesh : meshes()) {
    const auto parameters = some_parameters(mesh, at::kFloat, true);
    const std::vector<Share> shares = whole(parameters)->shares();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::int64_t sum = 0;
      for (const at::Tensor& theirs :
           all_parts(mesh, at::full_like(shares[i].value, shares[i].counted ? 1 : 0, at::kLong))) {
        sum += theirs.sum().item<std::int64_t>();
      }
      EXPECT_EQ(sum, parameters[i].numel()) << parameters[i].name() << " on " << to_string(mesh);
    }
  }
}

/// Masters go on, which say more than the half values; and so does a value that is not contiguous.
TEST(Whole, GoesOnFromASavedState) {
  const Parameter w = ones("w", {4}, at::kBFloat16), turned = ones("turned", {2, 3}, at::kDouble);
  const at::NoGradGuard no_gradient;
  turned.leaf().set_data(at::arange(6, at::kDouble).view({3, 2}).t());
  const auto store = whole({w, turned});
  store->shares()[0].value.add_(0.001);
  store->updated();
  const SavedState saved(Partition::world().subset({Partition::world().rank()}), store->state());
  const at::Tensor values = turned.leaf().clone();
  w.leaf().fill_(3);
  turned.leaf().fill_(3);
  saved.load(store->state());
  store->updated();
  EXPECT_NEAR(store->shares()[0].value[0].item<double>(), 1.001, 1e-6);
  EXPECT_EQ(w.leaf()[0].item<float>(), 1);
  EXPECT_SAME_BITS(turned.leaf(), values);
}

TEST(Whole, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const auto placed = [&](const Space& X) {
    Parameter parameter("w", X, {});
    parameter.initialise(1, at::kFloat);
    return parameter;
  };
  const Parameter w = placed(Space(P, {4}));
  EXPECT_ERROR(whole({w, w}), "whole: the parameter w is given twice");
  EXPECT_ERROR(whole({Parameter("v", Space(P, {4}), {})}), "Parameter v has no value yet");
  EXPECT_ERROR(whole({placed(Space(P, {4}).copied("world"))}), "whole: w is Copied on axis world");
  EXPECT_ERROR(whole({placed(Space(P, {4}).partial("world"))}), "whole: w is Partial on axis world");
  const Split halos = Split::covering(4, {{{0, 3}}, {{2, 4}}});
  EXPECT_ERROR(whole({placed(Space(P, {4}).sharded(0, "world", halos))}), "the shards of w overlap on dim 0");
  EXPECT_ERROR(whole(std::vector<Parameter>())->partition(), "no parameters");
}

TEST(Whole, TrainsHalfValues) {
  const Parameter half = ones("w", {5}, at::kBFloat16), single = ones("w", {5}, at::kFloat);
  AdamW ours({half}, {.learning_rate = 1e-3}), theirs({single}, {.learning_rate = 1e-3});
  for (int step = 0; step < 10; ++step) {
    for (const Parameter& p : {half, single}) {
      p.value().local().mutable_grad() = at::full_like(p.value().local().detach(), 0.5 + step);
    }
    ours.step();
    theirs.step();
  }
  EXPECT_SAME_BITS(half.value().local().detach(), single.value().local().detach().to(at::kBFloat16));
}

}  // namespace
}  // namespace riesz::testing
