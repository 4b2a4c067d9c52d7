// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/parameter.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/nn/random/philox.h"
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
  two.set_name("h.w");
  two.initialise(1, at::kDouble);

  EXPECT_EQ(one.name(), "h.w");
  EXPECT_TRUE(one.value().local().is_same(two.value().local()));
}

TEST(Parameter, SaysWhatIsWrong) {
  EXPECT_ERROR(Parameter("w", Space(alone, {4, 3}), {.shape = {4, 4}}), "Parameter w",
               "[4, 4] has 16 elements", "has 12");
  const Parameter unset("lm_head.weight", Space(alone, {3}), {});
  EXPECT_ERROR(unset.value(), "lm_head.weight has no value yet", "initialise(seed, dtype)");
}

}  // namespace
}  // namespace riesz::testing
