// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A model, its optimizers and ZeRO on another device train as on the CPU.
#include "../zero/training.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

Course short_course(const std::string& optimizer = "AdamW") {
  Course course{.batch = 3, .steps = 2};
  course.config.layers = 1;
  course.config.dropout = 0.1;
  for (const auto& [name, make] : some_optimizers())
    if (name == optimizer) course.optimizer = make;
  return course;
}

void expect_trained_there(Course course, const riesz::Layout& layout) {
  const TrainingRun here = train(course, layout);
  course.device = pretend_device();
  EXPECT_TRUE(compare_runs(train(course, layout), here));
}

/// Backward is on another thread there, and runs regions again.
TEST(OnADevice, BlocksRunAgain) {
  Course course = short_course();
  course.config.layers = 2;
  const Partition tp = Partition::world().grid({{"dp", 1}, {"tp", Runtime::size()}});
  for (const int stage : {0, 3}) {
    course.device = pretend_device();
    course.zero = ZeroOptions{.stage = stage, .keep = 50};
    for (const Layout& layout : {spaces::sequence_parallel(tp), spaces::one_d(data_parallel())}) {
      course.recompute = {};
      const TrainingRun plain = train(course, layout);
      course.recompute = {.regions = RecomputePolicy::Regions::blocks, .pieces_over = {"tp"}};
      expect_same_bits(train(course, layout), plain);
    }
  }
}

TEST(OnADevice, EveryStageOfZeroTrains) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Course course = short_course();
    course.micro_batches = 2;
    course.zero = ZeroOptions{.stage = stage, .bucket = 1000, .keep = 100};
    expect_trained_there(course, spaces::one_d(data_parallel()));
  }
}

TEST(OnADevice, ZeroKeepsParametersOfOneDevice) {
  const Space X(Partition::world().grid({{"dp", Runtime::size()}}), {7, 3});
  const Parameter here("here", X, {}), far("far", X, {});
  Parameter(here).initialise(1, at::kFloat);
  Parameter(far).initialise(1, at::kFloat, pretend_device());
  EXPECT_ERROR(Zero({here, far}), "Zero: far is on pretend:0, here on cpu", "on one device");
}

TEST(OnADevice, GradientsAreClippedAndUnscaled) {
  expect_close_there([](at::Device device) {
    Parameter w("w", Space(row(), {7, 3}), {Initial::normal(1)});
    w.initialise(1, at::kDouble, device);
    w.value().local().mutable_grad() = w.value().local().detach().mul(64);
    const std::shared_ptr<Store> store = whole({w});
    LossScale scale({.initial = 16});
    EXPECT_TRUE(scale.unscale(*store));
    EXPECT_GT(clip_gradients(*store, 1), 1);
    const at::Tensor clipped = w.gradient().local().clone();
    w.value().local().mutable_grad().fill_(1e300).mul_(1e300);
    scale.unscale(*store);
    EXPECT_EQ(scale.skipped(), 1);
    return std::vector<at::Tensor>{clipped};
  });
}

}  // namespace
}  // namespace riesz::testing
