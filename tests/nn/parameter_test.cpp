// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/parameter.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/nn/random/random.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

const Partition alone = Partition::simulated(1);

TEST(Parameter, StartsAsItsInitialSays) {
  Parameter zeros("b", Space(alone, {3}), {});
  Parameter ones("g", Space(alone, {3}), {Initial::ones()});
  Parameter drawn("w", Space(alone, {3}), {Initial{2, 0.5}});
  for (Parameter* parameter : {&zeros, &ones, &drawn}) parameter->initialise(7, at::kDouble);

  EXPECT_TRUE(zeros.value().local().eq(0).all().item<bool>());
  EXPECT_TRUE(ones.value().local().eq(1).all().item<bool>());
  const at::Tensor expected = normal(Space(alone, {3}), philox_key(7, "w")).mul(0.5).add(2);
  EXPECT_TRUE(at::equal(drawn.value().local(), expected));
  EXPECT_TRUE(drawn.value().local().requires_grad());
  EXPECT_TRUE(drawn.value().local().is_leaf());
}

/// Part by part too, wherever the parts begin, without the whole.
TEST(Parameter, IsDrawnWhenItIsAskedFor) {
  for (const Initial& law : {Initial::normal(1), Initial::uniform(2, 3),
                             Initial::truncated_normal(0, 1, -1, 2), Initial::constant(4)}) {
    Parameter one("w", Space(Partition::simulated(3, 1), {7, 4, 6}).sharded(2, "world"), {law}),
        other("w", one.space(), {law});
    one.initialise(7, at::kFloat);
    other.initialise(7, at::kFloat);
    EXPECT_EQ(one.type(), at::kFloat);
    const at::Tensor whole = other.leaf().detach().reshape({-1});
    for (const bool drawn : {false, true}) {
      if (drawn) one.leaf();
      for (const Interval part : {Interval{0, whole.numel()}, Interval{3, 12}, Interval{5, 5}}) {
        at::Tensor out = at::full({part.size()}, -7, at::kFloat);
        one.copy_to(out, part);
        EXPECT_TRUE(at::equal(out, whole.narrow(0, part.begin, part.size())));
      }
    }
  }
  const Parameter unknown("w", Space(alone, {3}), {});
  EXPECT_ERROR(unknown.type(), "Parameter w has no value yet");
}

TEST(Parameter, IsDrawnInDoubleAndThenRounded) {
  Parameter one("w", Space(alone, {50}), {Initial::normal(1)});
  Parameter two("w", Space(alone, {50}), {Initial::normal(1)});
  one.initialise(7, at::kDouble);
  two.initialise(7, at::kFloat);

  EXPECT_EQ(two.value().local().scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(one.value().local().to(at::kFloat), two.value().local()));
}

TEST(Parameter, AsAViewHasTheDrawsOfItsPublishedShape) {
  const std::vector<std::int64_t> published{4, 18};
  Parameter whole("c_attn.weight", Space(alone, published), {Initial::normal(1)});
  whole.initialise(3, at::kDouble);
  std::vector<at::Tensor> parts;
  const auto view = [](int me) {
    return Space(Partition::simulated(2, me), {4, 3, 3, 2}).sharded(2, "world");
  };
  for (int me = 0; me < 2; ++me) {
    Parameter part("c_attn.weight", view(me), {Initial::normal(1), true, published});
    part.initialise(3, at::kDouble);
    EXPECT_EQ(part.shape(), published);
    EXPECT_EQ(part.numel(), 72);
    EXPECT_TRUE(part.decays());
    parts.push_back(part.value().local().detach());
  }

  EXPECT_TRUE(at::equal(meant(view(0), parts).view(published), whole.value().local()));
}

TEST(Parameter, HasAZeroGradientUntilOneReachesIt) {
  Parameter parameter("w", Space(alone, {3}).copied("world"), {});
  parameter.initialise(1, at::kDouble);

  EXPECT_TRUE(parameter.gradient().local().eq(0).all().item<bool>());
  EXPECT_EQ(parameter.gradient().space(), Space(alone, {3}).partial("world"));
  parameter.value().local().sum().backward();
  EXPECT_TRUE(at::equal(parameter.gradient().local(), at::ones({3}, at::kDouble)));
  parameter.zero_gradient();
  EXPECT_TRUE(parameter.gradient().local().eq(0).all().item<bool>());
  EXPECT_FALSE(parameter.value().local().grad().defined());
}

TEST(Parameter, IsASharedHandle) {
  Parameter one("w", Space(alone, {3}), {});
  Parameter two = one;
  two.initialise(1, at::kDouble);

  EXPECT_TRUE(one.value().local().is_same(two.value().local()));
}

TEST(Parameter, TakesTheGlobalTensorOfItsPublishedShapeAtEveryPart) {
  const std::vector<std::int64_t> published{4, 18};
  const at::Tensor global = at::arange(72, at::kDouble).view(published);
  std::vector<at::Tensor> parts;
  const auto view = [](int me) {
    return Space(Partition::simulated(2, me), {4, 3, 3, 2}).sharded(2, "world");
  };
  for (int me = 0; me < 2; ++me) {
    Parameter part("c_attn.weight", view(me), {Initial::normal(1), true, published});
    part.initialise(3, at::kFloat);
    const at::Tensor before = part.value().local();
    part.set(global);
    EXPECT_TRUE(part.value().local().is_same(before)) << "the same leaf";
    EXPECT_TRUE(at::equal(part.get().local(), part.value().local()));
    EXPECT_FALSE(part.get().local().requires_grad());
    parts.push_back(part.get().local());
    part.set(global.view({4, 3, 3, 2}).mul(2));
    EXPECT_TRUE(at::equal(part.get().local(), parts.back().mul(2)));
  }

  EXPECT_TRUE(at::equal(meant(view(0), parts).view(published), global.to(at::kFloat)));
}

/// Into its own memory, drawn or not; where nothing comes of it, what was not drawn is drawn later.
TEST(Parameter, IsFilledWhereItStays) {
  Parameter w("w", Space(alone, {2, 3}), {Initial::ones()});
  EXPECT_ERROR(w.fill([](const at::Tensor&) {}), "Parameter w has no value yet", "initialise(seed, dtype)");
  w.initialise(1, at::kFloat);
  EXPECT_ERROR(w.fill([](const at::Tensor&) { throw_error("no such file"); }), "no such file");
  Parameter other("w", Space(alone, {2, 3}), {Initial::ones()});
  other.initialise(1, at::kFloat);
  EXPECT_TRUE(at::equal(w.get().local(), other.get().local()));
  w.initialise(1, at::kFloat);
  at::Tensor leaf;
  for (const int turn : {0, 1}) {
    const auto version = turn == 0 ? 0 : leaf._version();
    const void* memory = nullptr;
    w.fill([&](const at::Tensor& part) {
      EXPECT_EQ(part.sizes(), at::IntArrayRef({6}));
      for (std::int64_t i = 0; i < 6; ++i) part.mutable_data_ptr<float>()[i] = static_cast<float>(turn + i);
      memory = part.const_data_ptr();
    });
    EXPECT_TRUE(turn == 0 || (w.leaf().is_same(leaf) && leaf._version() > version)) << "it was written";
    leaf = w.leaf();
    EXPECT_EQ(leaf.const_data_ptr(), memory) << "nothing is copied";
    EXPECT_TRUE(leaf.requires_grad() && leaf.is_leaf());
    EXPECT_TRUE(at::equal(leaf.detach(), at::arange(turn, turn + 6, at::kFloat).view({2, 3})));
  }
}

TEST(Parameter, ThatIsFrozenHasNoGradientAndCopiesInItsPlace) {
  Parameter buffer("running_mean", Space(alone, {3}), {.trained = false});
  Parameter frozen("w", Space(alone, {3}), {Initial::ones()});
  for (Parameter* parameter : {&buffer, &frozen}) parameter->initialise(7, at::kDouble);
  EXPECT_TRUE(frozen.trained());

  frozen.freeze();

  for (const Parameter* parameter : {&buffer, &frozen}) {
    EXPECT_FALSE(parameter->trained());
    EXPECT_FALSE(parameter->value().local().requires_grad());
    EXPECT_EQ(parameter->value().space(), Space(alone, {3}).copied("world"));
    EXPECT_EQ(parameter->get().space(), Space(alone, {3}));
  }
  EXPECT_TRUE(frozen.get().local().eq(1).all().item<bool>());
}

TEST(Parameter, SaysWhatIsWrong) {
  EXPECT_ERROR(Parameter("w", Space(alone, {4, 3}), {.shape = {4, 4}}), "Parameter w",
               "[4, 4] has 16 elements", "has 12");
  const Parameter unset("lm_head.weight", Space(alone, {3}), {});
  EXPECT_ERROR(unset.value(), "lm_head.weight has no value yet", "initialise(seed, dtype)");
  Parameter published("w", Space(alone, {2, 3}), {.shape = {6}});
  EXPECT_ERROR(published.set(at::ones({6})), "Parameter w has no value yet", "initialise(seed, dtype)");
  published.initialise(1, at::kFloat);
  EXPECT_ERROR(published.set(at::ones({3, 2})), "Parameter w is published in the shape [6]", "[3, 2]");
  EXPECT_ERROR(published.set(Vector(Space(alone, {6}), at::ones({6}))), "Parameter w lies in\n  (2, 3)",
               "takes no value of\n  (6)", "their shapes differ, [6] and [2, 3]", "reshape one");
}

}  // namespace
}  // namespace riesz::testing
