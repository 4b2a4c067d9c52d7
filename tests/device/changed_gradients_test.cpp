// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Gradients on a device that a program changes between the checks of a step: all workers decide alike.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../zero/training.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/parameter.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/sgd.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Two parameters, of which each worker has rows, and their gradients; only the last worker changes any.
struct Pair {
  explicit Pair(at::Device device, at::ScalarType type = at::kFloat) {
    for (Parameter* each : {&v, &w}) each->initialise(1, type, device);
    store = whole({v, w});
  }
  void gradients(double x) {
    for (const Parameter& each : {v, w}) {
      const at::Tensor local = each.value().local();
      local.mutable_grad() = at::full(local.sizes(), x, local.options());
    }
  }
  void last_worker_changes(double by) const {
    if (Runtime::rank() == Runtime::size() - 1) w.value().local().mutable_grad().mul_(by);
  }
  std::vector<at::Tensor> values() const {
    return {v.value().local().detach().cpu().clone(), w.value().local().detach().cpu().clone()};
  }

  Parameter v{"v", Space(row(), {5, 2}).sharded(0, "a"), {Initial::normal(1), true}};
  Parameter w{"w", Space(row(), {7, 3}).sharded(0, "a"), {Initial::normal(1), true}};
  std::shared_ptr<Store> store;
};

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_SAME_BITS(a[i], b[i]);
}

class ChangedGradients : public ::testing::Test {
 protected:
  void TearDown() override { settle_late_checks(); }
};

/// Between the scale's check and clipping.
TEST_F(ChangedGradients, AreClippedAsOnTheCpu) {
  std::vector<std::vector<double>> norms;
  std::vector<std::vector<at::Tensor>> values;
  for (const at::Device device : {at::Device(at::kCPU), pretend_device()}) {
    Pair pair(device);
    SGD optimizer(pair.store, {.learning_rate = 0.1});
    LossScale scale({.initial = 64});
    norms.emplace_back();
    for (int step = 0; step < 3; ++step) {
      pair.gradients(64 * (step + 1));
      EXPECT_TRUE(scale.unscale(*pair.store));
      pair.last_worker_changes(3);
      norms.back().push_back(clip_gradients(*pair.store, 1));
      pair.last_worker_changes(2);
      optimizer.step();
      optimizer.zero_gradients();
    }
    values.push_back(pair.values());
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(norms[1][i], norms[0][i], 1e-5 * norms[0][i]);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(values[1][i].allclose(values[0][i], 1e-5, 1e-6)) << values[1][i] << values[0][i];
}

/// The step is left out without an error, as the CPU leaves it out.
TEST_F(ChangedGradients, ThatOverflowUnderALossScaleAreNoError) {
  for (const bool clips : {false, true}) {
    for (const double least : {1., 0.5}) {
      SCOPED_TRACE(clips);
      Pair pair(pretend_device());
      AdamW optimizer(pair.store);
      LossScale scale({.initial = 64, .hysteresis = 1, .least = least});
      pair.gradients(kInfinite);
      const std::vector<at::Tensor> before = pair.values();
      scale.unscale(*pair.store);
      pair.last_worker_changes(0.5);
      if (clips) clip_gradients(*pair.store, 1);
      if (clips) pair.last_worker_changes(2);
      optimizer.step();
      expect_same(pair.values(), before);
      EXPECT_EQ(scale.skipped(), 1);
      EXPECT_EQ(optimizer.steps(), 0);
      optimizer.zero_gradients();
      pair.gradients(1);
      EXPECT_NO_THROW(optimizer.step());
      EXPECT_EQ(optimizer.steps(), 1);
    }
  }
}

/// What one worker alone has made not finite, nobody applies, and all report.
TEST_F(ChangedGradients, ThatAreNotFiniteOnOneWorkerStopAll) {
  for (const auto& [name, make] : some_optimizers()) {
    for (const std::string after : {"clipping", "unscaling", "unscaling, clipped"}) {
      SCOPED_TRACE(name + " after " + after);
      Pair pair(pretend_device());
      const std::unique_ptr<Optimizer> optimizer = make(pair.store);
      LossScale scale({.initial = 64});
      pair.gradients(64);
      if (after != "clipping") scale.unscale(*pair.store);
      if (after == "clipping") clip_gradients(*pair.store, 1);
      pair.last_worker_changes(kNotANumber);
      if (after == "unscaling, clipped") {
        EXPECT_TRUE(std::isnan(clip_gradients(*pair.store, 1)));
      }
      const std::vector<at::Tensor> before = pair.values();
      optimizer->step();
      expect_same(pair.values(), before);
      EXPECT_EQ(optimizer->steps(), 0);
      EXPECT_EQ(scale.skipped(), 0);
      optimizer->zero_gradients();
      pair.gradients(1);
      EXPECT_ERROR(optimizer->step(), "step 1: the gradient of w has an element that is NaN");
      EXPECT_NO_THROW(optimizer->step());
      for (const at::Tensor& value : pair.values()) EXPECT_TRUE(value.isfinite().all().item<bool>());
    }
  }
}

/// On the CPU too, where the norm tells all of it.
TEST_F(ChangedGradients, ThatTheNormTellsOfStopAllOnTheCpu) {
  Pair pair(at::kCPU);
  AdamW optimizer(pair.store);
  LossScale scale({.initial = 64});
  pair.gradients(64);
  EXPECT_TRUE(scale.unscale(*pair.store));
  pair.last_worker_changes(kNotANumber);
  EXPECT_TRUE(std::isnan(clip_gradients(*pair.store, 1)));
  EXPECT_ERROR(optimizer.step(), "AdamW: step 1: the gradient of w has an element that is NaN");
}

/// One number each way in a step, as where nothing is clipped.
TEST_F(ChangedGradients, CostAStepOneAllMin) {
  std::int64_t elements[2];
  for (const bool clips : {false, true}) {
    Pair pair(pretend_device());
    SGD optimizer(pair.store);
    pair.gradients(1);
    Counters::instance().reset();
    if (clips) clip_gradients(*pair.store, 1);
    if (clips) pair.last_worker_changes(2);
    optimizer.step();
    elements[clips ? 1 : 0] = Counters::instance().by_operation()["AllMin"].elements;
  }
  EXPECT_EQ(elements[0], elements[1]);
  EXPECT_EQ(elements[0] > 0, Runtime::size() > 1);
}

/// A program that has checked them itself.
TEST_F(ChangedGradients, OfWhichOneSaysThatTheyAreFinite) {
  for (const auto& [name, make] : some_optimizers()) {
    SCOPED_TRACE(name);
    Pair pair(pretend_device());
    const std::unique_ptr<Optimizer> optimizer = make(pair.store);
    LossScale scale({.initial = 64});
    for (const double x : {kInfinite, 64.}) {
      pair.gradients(x);
      scale.unscale(*pair.store);
      pair.store->know_finite(pair.store->shares());
      optimizer->step();
      EXPECT_EQ(optimizer->steps(), std::isfinite(x) ? 1 : 0);
      optimizer->zero_gradients();
    }
    for (const at::Tensor& value : pair.values()) EXPECT_TRUE(value.isfinite().all().item<bool>());
  }
}

/// A flag is of one step, also of one that throws.
TEST_F(ChangedGradients, OfAnEarlierStepDecideNothing) {
  const at::Tensor no = at::full({}, false, at::device(pretend_device()).dtype(at::kBool));
  Pair pair(pretend_device());
  AdamW optimizer(pair.store);
  pair.gradients(kNotANumber);
  optimizer.step();
  optimizer.zero_gradients();
  pair.gradients(1);
  pair.store->step_only_if(no);
  EXPECT_ERROR(optimizer.step(), "AdamW: step 1: the gradient of v has");
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 1);

  LossScale scale;
  pair.gradients(kInfinite);
  scale.unscale(*pair.store);  // and then no step
  optimizer.zero_gradients();
  pair.gradients(1);
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 2);
}

/// The error of an earlier step comes first; then the step is made once more, and still left out.
TEST_F(ChangedGradients, ThatOverflowAreLeftOutByAStepThatIsMadeOnceMore) {
  Pair pair(pretend_device());
  AdamW optimizer(pair.store);
  LossScale scale;
  pair.gradients(kNotANumber);
  optimizer.step();
  optimizer.zero_gradients();
  pair.gradients(kInfinite);
  const std::vector<at::Tensor> before = pair.values();
  scale.unscale(*pair.store);
  EXPECT_ERROR(optimizer.step(), "AdamW: step 1: the gradient of v has");
  optimizer.step();
  expect_same(pair.values(), before);
  EXPECT_EQ(optimizer.steps(), 0);
}

/// A scale of several stores decides for each of them, whichever an optimizer has.
TEST_F(ChangedGradients, ThatOverflowInOneStoreAreLeftOutInAll) {
  Pair a(pretend_device()), b(pretend_device());
  AdamW of_a(a.store), of_b(b.store);
  LossScale scale;
  a.gradients(1);
  b.gradients(kInfinite);
  const std::vector<at::Tensor> values_of_a = a.values(), values_of_b = b.values();
  scale.unscale(*several({a.store, b.store}));
  of_a.step();
  of_b.step();
  expect_same(a.values(), values_of_a);
  expect_same(b.values(), values_of_b);
  EXPECT_EQ(of_a.steps(), 0);
  EXPECT_EQ(of_b.steps(), 0);
  settle_late_checks();
}

/// Not to zero, as by a largest norm that is divided by infinity.
TEST_F(ChangedGradients, OfAnInfiniteNormAreNotScaled) {
  Pair pair(pretend_device());
  pair.gradients(7);
  pair.last_worker_changes(kInfinite);
  EXPECT_TRUE(std::isinf(clip_gradients(*pair.store, 1)));
  const at::Tensor v = pair.v.gradient().local().cpu();
  EXPECT_SAME_BITS(v, at::full(v.sizes(), 7., v.options()));
}

/// fp64 gradients whose squares have no sum.
TEST_F(ChangedGradients, WithoutANormAreAnErrorOfClipping) {
  Pair pair(pretend_device(), at::kDouble);
  AdamW optimizer(pair.store);
  const std::vector<at::Tensor> before = pair.values();
  pair.gradients(1e200);
  EXPECT_TRUE(std::isinf(clip_gradients(*pair.store, 1)));
  optimizer.step();
  expect_same(pair.values(), before);
  optimizer.zero_gradients();
  EXPECT_ERROR(optimizer.step(), "clip_gradients: the gradients are finite, but the sum of their squares");
  pair.gradients(kNotANumber);
  clip_gradients(*pair.store, 1);
  optimizer.step();
  optimizer.zero_gradients();
  EXPECT_ERROR(optimizer.step(), "AdamW: step 1: the gradient of v has an element");
}

/// By a scale that is no power of two.
TEST_F(ChangedGradients, OfDoublesAreUnscaledInFp64) {
  expect_close_there([](at::Device device) {
    Pair pair(device, at::kDouble);
    pair.gradients(kNotANumber);
    pair.v.value().local().mutable_grad().fill_(1000);
    pair.w.value().local().mutable_grad().fill_(7);
    LossScale scale({.initial = 1000, .factor = 3});
    EXPECT_TRUE(scale.unscale(*pair.store));
    EXPECT_EQ(scale.skipped(), 0);
    return std::vector<at::Tensor>{pair.v.gradient().local().clone(), pair.w.gradient().local().clone()};
  });
}

/// Into views that were taken before a step changed the scale.
TEST(LossScaleThere, GoesOnFromWhatIsLoaded) {
  Pair pair(pretend_device());
  LossScale scale({.initial = 64, .hysteresis = 1});
  const SavedState saved(row(), scale.state(row()));
  const State views = scale.state(row());
  for (int i = 0; i < 2; ++i) {
    pair.gradients(kInfinite);
    scale.unscale(*pair.store);
  }
  saved.load(views);
  EXPECT_EQ(scale.value(), 64);
  EXPECT_EQ(scale.skipped(), 0);
  pair.gradients(kInfinite);
  scale.unscale(*pair.store);
  EXPECT_EQ(scale.value(), 32);
  EXPECT_EQ(scale.skipped(), 1);
}

}  // namespace
}  // namespace riesz::testing
