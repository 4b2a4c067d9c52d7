// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A step on a device whose gradients are not finite changes nothing, and is reported one step late.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../optim/own_terms.h"
#include "../zero/training.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/parameter.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/zero/zero.h"
#include "there.h"

namespace riesz::testing {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Course small_course(at::Device device) {
  Course course{.batch = 3};
  course.config.layers = 1;
  course.device = device;
  return course;
}

/// A model that trains step by step, of whose gradients some are spoilt.
class Trained {
 public:
  Trained(const MakeOptimizer& make, std::optional<int> stage, at::Device device)
      : course_(small_course(device)), model_(spaces::one_d(data_parallel()), course_.config) {
    model_.initialise(7, course_.type, device);
    if (stage) zero_.emplace(model_.parameters(), ZeroOptions{.stage = *stage, .bucket = 1000, .keep = 100});
    optimizer = make(zero_ ? zero_->store() : whole(model_.parameters()));
  }

  void gradients(int step) {
    optimizer->zero_gradients();
    if (zero_ && optimizer->name() == "OneBitAdam") zero_->set_reducing(optimizer->wants_reduced_gradients());
    accumulate(course_, model_, zero_ ? &*zero_ : nullptr, step);
  }

  /// Of every worker that has some of the third and the fifth share.
  void spoil(double with) {
    const std::vector<Share> shares = optimizer->store()->shares();
    for (const std::size_t i : {2, 4}) {
      spoilt = i == 2 ? shares[i].parameter.name() : spoilt;
      shares[i].arrived().fill_(with);
    }
  }

  /// Values, and what the optimizer keeps.
  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors;
    for (const Share& share : optimizer->store()->shares()) tensors.push_back(share.value.cpu());
    for (const StateView& view : optimizer->kept()) tensors.push_back(view.tensor.cpu());
    return tensors;
  }

  std::unique_ptr<Optimizer> optimizer;
  std::string spoilt;

 private:
  Course course_;
  models::MinGpt model_;
  std::optional<Zero> zero_;
};

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_SAME_BITS(a[i], b[i]);
}

void expect_close(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const at::Tensor difference = a[i].to(at::kDouble).sub(b[i].to(at::kDouble)).abs();
    EXPECT_LT(a[i].numel() == 0 ? 0 : difference.max().item<double>(), 1e-10) << i;
  }
}

/// Of three good steps and a bad one; the CPU throws at it, the device at the one after it.
void expect_masked(const MakeOptimizer& make, std::optional<int> stage, bool close = true) {
  Trained here(make, stage, at::kCPU);
  Trained there(make, stage, pretend_device());
  for (int step = 0; step < 2; ++step) {
    for (Trained* each : {&here, &there}) {
      each->gradients(step);
      each->optimizer->step();
    }
  }
  for (Trained* each : {&here, &there}) {
    each->gradients(2);
    each->spoil(kNotANumber);
  }
  EXPECT_ERROR(here.optimizer->step(), "step 3: the gradient of " + here.spoilt + " has an element");
  const std::vector<at::Tensor> before = there.all();
  there.optimizer->step();
  expect_same(there.all(), before);

  there.gradients(3);
  EXPECT_ERROR(there.optimizer->step(), "step 3: the gradient of " + there.spoilt + " has an element");
  EXPECT_EQ(there.optimizer->steps(), 2);
  expect_same(there.all(), before);
  for (Trained* each : {&here, &there}) {
    each->gradients(4);
    each->optimizer->step();
    EXPECT_EQ(each->optimizer->steps(), 3);
  }
  settle_late_checks();
  if (close) expect_close(there.all(), here.all());
}

TEST(MaskedSteps, OfEveryOptimizer) {
  for (const auto& [name, make] : some_optimizers()) {
    SCOPED_TRACE(name);
    expect_masked(make, {});
  }
}

TEST(MaskedSteps, OfEveryStage) {
  for (const int stage : {0, 1, 2, 3}) {
    for (const auto& [name, make] : some_optimizers()) {
      SCOPED_TRACE(name + " in stage " + std::to_string(stage));
      expect_masked(make, stage);
    }
  }
}

TEST(MaskedSteps, OfOneBitAdam) {
  for (const int stage : {0, 1}) {
    SCOPED_TRACE(stage);
    expect_masked(one_bit_adam(), stage, Runtime::size() == 1);  // the sign of a zero gradient is chance
  }
}

/// Of the same gradients, a worker's own.
std::vector<at::Tensor> one_bit_steps(at::Device device) {
  const Partition P = data_parallel().along("dp");
  Parameter w("w", Space(P, {5, 9}), {Initial::normal(1)}), v("v", Space(P, {3}), {Initial::normal(1)});
  for (Parameter* each : {&w, &v}) each->initialise(1, at::kDouble, device);
  const auto store = std::make_shared<OwnTerms>(std::vector<Parameter>{w, v});
  OneBitAdam optimizer(store, P, {.learning_rate = 0.1, .weight_decay = 0.1, .freeze_step = 2});
  for (int step = 0; step < 5; ++step) {
    store->summed = optimizer.wants_reduced_gradients();
    for (const Parameter& each : {w, v}) {
      const at::Tensor local = each.value().local();
      const at::Tensor elements = at::arange(local.numel(), at::kDouble).view(local.sizes());
      const int own = store->summed ? 0 : Runtime::rank();
      local.mutable_grad() = elements.add(3 * step + 7 * own).sin().to(device);
    }
    optimizer.step();
  }
  std::vector<at::Tensor> all{w.value().local().detach(), v.value().local().detach()};
  for (const StateView& view : optimizer.kept()) all.push_back(view.tensor.clone());
  return all;
}

TEST(MaskedSteps, OfOneBitAdamAreThoseOfTheCpu) { expect_close_there(one_bit_steps); }

/// One parameter, and its gradient set.
struct One {
  explicit One(at::Device device) {
    w.initialise(1, at::kFloat, device);
    store = whole({w});
  }
  void gradient(double x) {
    w.value().local().mutable_grad() = at::full({7, 3}, x, w.value().local().options());
  }

  Parameter w{"w", Space(row(), {7, 3}), {Initial::normal(1)}};
  std::shared_ptr<Store> store;
};

/// The scale, and the steps, after steps that overflow or not.
std::vector<double> scales(at::Device device) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  One one(device);
  AdamW optimizer(one.store);
  LossScale scale({.initial = 1024, .window = 2, .hysteresis = 2, .least = 512});
  std::vector<double> all;
  for (const double x : {1., kInfinity, 2., kInfinity, kInfinity, 3., 4., 5., kNotANumber, 1., 1.}) {
    one.gradient(x);
    const bool goes_on = scale.unscale(*one.store);
    EXPECT_EQ(goes_on, !device.is_cpu() || std::isfinite(x));
    if (goes_on) {
      const double norm = clip_gradients(*one.store, 1);
      if (std::isfinite(x)) all.push_back(norm);
      optimizer.step();
    }
    EXPECT_EQ(scale.last_skipped(), std::isfinite(x) ? 0 : 1);
    if (all.size() % 2 == 0) all.push_back(scale.value());
    optimizer.zero_gradients();
  }
  all.push_back(scale.value());
  all.push_back(static_cast<double>(scale.skipped()));
  all.push_back(static_cast<double>(optimizer.steps()));
  for (const StateView& view : scale.state(row()))
    if (view.tensor.numel() > 0) all.push_back(view.tensor.to(at::kDouble).item<double>());
  all.push_back(one.w.value().local().detach().to(at::kDouble).sum().item<double>());
  return all;
}

TEST(MaskedSteps, OfALossScaleAreSkippedWithoutAnError) {
  const std::vector<double> here = scales(at::kCPU);
  const std::vector<double> there = scales(pretend_device());
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-5) << i;
}

TEST(MaskedSteps, OfClippingAreReported) {
  One one(pretend_device());
  AdamW optimizer(one.store);
  one.gradient(kNotANumber);
  const at::Tensor before = one.w.value().local().detach().clone();
  const LateNumber norm = clip_gradients(*one.store, 1);
  optimizer.step();
  EXPECT_TRUE(std::isnan(norm));
  EXPECT_SAME_BITS(one.w.value().local().detach().cpu(), before.cpu());
  EXPECT_EQ(optimizer.steps(), 0);
  one.gradient(1);
  EXPECT_ERROR(optimizer.step(), "AdamW: step 1: the gradient of w has an element");
}

TEST(MaskedSteps, AreForWhatElseDecidesToo) {
  One one(pretend_device());
  AdamW optimizer(one.store);
  one.gradient(1);
  const at::Tensor before = one.w.value().local().detach().cpu();
  one.store->step_only_if(at::full({}, false, at::device(pretend_device()).dtype(at::kBool)));
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_SAME_BITS(one.w.value().local().detach().cpu(), before);
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 1);
}

/// But for events that the step before has recorded.
TEST(MaskedSteps, OrNotWaitForNothing) {
  if (Runtime::size() > 1) return;  // messages may wait
  for (const bool half : {false, true}) {
    One one(pretend_device());
    AdamW optimizer(one.store);
    LossScale scale({.initial = 16});
    std::int64_t reads = 0;
    for (int step = 0; step < 3; ++step) {
      one.gradient(1);
      reset_host_reads();
      if (half) scale.unscale(*one.store);
      clip_gradients(*one.store, 1);
      optimizer.step();
      for (const auto& [what, times] : host_reads()) reads += what == "Event::synchronize" ? 0 : times;
    }
    EXPECT_EQ(reads, 0);
  }
}

}  // namespace
}  // namespace riesz::testing
