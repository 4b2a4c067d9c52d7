// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/loss_scale.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <limits>

#include "layouts.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/schedule.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

const LossScaleOptions kOptions{.initial = 8, .window = 3, .hysteresis = 2, .least = 2};

/// A step of a loss scale whose gradients are finite or not.
bool step(LossScale& scale, bool finite) {
  static const auto parameters = some_parameters(alone(), at::kFloat);
  const auto store = whole(parameters);
  give_gradients(parameters, 1);
  if (!finite)
    parameters[4].value().local().mutable_grad().view({-1})[3] = std::numeric_limits<float>::quiet_NaN();
  return scale.unscale(*store);
}

TEST(LossScale, FallsAfterItsHysteresis) {
  LossScale scale(kOptions);
  EXPECT_EQ(scale.value(), 8);
  EXPECT_FALSE(step(scale, false));
  EXPECT_EQ(scale.value(), 8);
  for (const double expected : {4, 2, 2}) {
    EXPECT_FALSE(step(scale, false));
    EXPECT_EQ(scale.value(), expected);
  }
  EXPECT_EQ(scale.skipped(), 4);
}

TEST(LossScale, RisesAfterACleanWindow) {
  LossScale scale(kOptions);
  for (const double expected : {8, 8, 16, 16, 16, 32}) {
    EXPECT_TRUE(step(scale, true));
    EXPECT_EQ(scale.value(), expected);
  }
  step(scale, true);
  step(scale, false);  // uses the hysteresis up, and begins a new window
  for (const double expected : {32, 32, 64}) {
    step(scale, true);
    EXPECT_EQ(scale.value(), expected);
  }
  step(scale, false);  // the window has made the hysteresis whole
  EXPECT_EQ(scale.value(), 64);
  step(scale, false);
  EXPECT_EQ(scale.value(), 32);
}

TEST(LossScale, MayStay) {
  LossScale scale({.initial = 8, .dynamic = false, .window = 1, .hysteresis = 1});
  EXPECT_TRUE(step(scale, true));
  EXPECT_FALSE(step(scale, false));
  EXPECT_EQ(scale.value(), 8);
  EXPECT_EQ(scale.skipped(), 1);
}

/// One worker's gradient overflows: all skip, at every layout.
TEST(LossScale, AllSkipTheSameStep) {
  for (const Partition& mesh : meshes()) {
    SCOPED_TRACE(to_string(mesh));
    const auto parameters = some_parameters(mesh, at::kHalf);
    const auto store = whole(parameters);
    SGD optimizer(store, {.learning_rate = 0.5});
    LossScale scale({.initial = 1024, .hysteresis = 1});
    const auto before = values_of(parameters);
    give_gradients(parameters, 1);
    if (mesh.rank() == mesh.size() - 1) {
      parameters[5].value().local().mutable_grad()[2] = std::numeric_limits<float>::infinity();
    }
    const bool fits = scale.unscale(*store);
    if (fits) optimizer.step();
    EXPECT_FALSE(fits);
    EXPECT_EQ(scale.value(), 512);
    const auto after = values_of(parameters);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_SAME_BITS(after[i], before[i]);
  }
}

TEST(LossScale, DividesTheGradients) {
  for (const Partition& mesh : meshes()) {
    for (const bool shared : {false, true}) {
      const auto parameters = some_parameters(mesh, at::kFloat);
      const std::shared_ptr<Store> store = shared ? uneven(parameters) : whole(parameters);
      give_gradients(parameters, 1);
      std::vector<at::Tensor> before;
      for (const Share& share : store->shares()) before.push_back(share.gradient.clone());
      LossScale scale({.initial = 1024});
      EXPECT_TRUE(scale.unscale(*store));
      const auto shares = store->shares();
      for (std::size_t i = 0; i < shares.size(); ++i)
        EXPECT_SAME_BITS(shares[i].gradient, before[i].div(1024));
    }
  }
}

TEST(LossScale, SaysWhatDoesNotFit) {
  EXPECT_ERROR(LossScale({.initial = 1, .least = 2}), "an initial scale of 1 and a least one of 2");
  EXPECT_ERROR(LossScale({.factor = 1}), "a factor of 1");
  EXPECT_ERROR(LossScale({.window = 0}), "a window of 0");
  EXPECT_ERROR(LossScale({.hysteresis = 0}), "a hysteresis of 0");
}

/// What docs/reference/optimizers.md shows.
TEST(LossScale, IsUsedAsItsPageSays) {
  const Partition mesh = Partition::world();
  const Space X(mesh, {4, 3}), Y(mesh, {4, 2});
  Linear model("lm_head", "bi,io->bo", X, Y);
  model.initialise(1, at::kFloat);
  const auto store = whole(model.parameters());
  AdamW of_whole_parts(model.parameters(), {.learning_rate = 3e-4, .weight_decay = 0.1});
  AdamW optimizer(store, {.learning_rate = 3e-4},  // of any store
                  {{.has = [](const Parameter& p) { return p.name() == "lm_head.weight"; },
                    .learning_rate_scale = 0.1,
                    .weight_decay = 0.0}});
  LossScale scale;  // 65536; the second overflow halves it, 1000 clean steps double it
  for (int step = 0; step < 3; ++step) {
    optimizer.set_learning_rate(warm_up_cosine(step, 10, 100, 3e-4, 3e-5));
    Chain chain;
    Vector y = model(distribute(X, at::ones({4, 3}, at::kFloat)));
    Vector loss = mse_loss(y, distribute(Y, at::ones({4, 2}, at::kFloat))).mean();
    backward(scale.scaled(loss));
    if (scale.unscale(*optimizer.store())) {  // the same answer on all workers
      clip_gradients(*optimizer.store(), 1.0);
      optimizer.step();
    }
    optimizer.zero_gradients();
  }
  EXPECT_EQ(optimizer.steps(), 3);
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(), 3e-4 * 3 / 10);
}

}  // namespace
}  // namespace riesz::testing
