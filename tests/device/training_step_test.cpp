// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The steps of a training on a device: the CPU's numbers, read when they are there, and errors one step late.
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "../train/small_gpt.h"
#include "riesz/comm/error.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/loop.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

Config some_config(const std::string& compute) {
  Config config = SmallGpt::one_digit();
  config.compute = compute;
  config.optimizer.clip = 1;
  config.layout.zero = 1;
  config.train.micro_batches = 2;
  config.train.eval_every = 4;
  return config;
}

struct OnDevice {
  OnDevice(at::Device device, const std::string& compute)
      : config(some_config(compute)), task(config), small(Runtime::size(), 1), model(small.model()) {
    small.gpt.initialise(1, at::kDouble, device);
    step.emplace(config, model);
  }

  TrainingStep::Result operator()(std::int64_t i) {
    return (*step)(i, task.batch(i * config.train.batch, config.train.batch));
  }
  std::vector<at::Tensor> weights() {
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : small.gpt.parameters()) all.push_back(parameter.get().local().cpu());
    return all;
  }

  Config config;
  AdderTask task;
  SmallGpt small;
  Learner model;
  std::optional<TrainingStep> step;
};

std::vector<Row> rows_on(at::Device device, const std::string& compute) {
  OnDevice training(device, compute);
  std::vector<Row> seen;
  const Trained trained = run_training(
      training.config.train, *training.step, training.model, training.task,
      [&](const Row& row) { seen.push_back(row); }, {}, {}, [](std::int64_t made) { return made == 2; });
  EXPECT_EQ(seen, trained.rows);
  return seen;
}

TEST(TrainingThere, HasTheRowsOfTheCpu) {
  for (const char* compute : {"fp32", "fp16"}) {
    SCOPED_TRACE(compute);
    const std::vector<Row> here = rows_on(at::kCPU, compute);
    const std::vector<Row> there = rows_on(pretend_device(), compute);
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].step, static_cast<std::int64_t>(i) + 1);
      EXPECT_EQ(there[i].skipped, here[i].skipped);
      EXPECT_NEAR(there[i].loss, here[i].loss, 1e-9);
      EXPECT_EQ(there[i].held_out_loss.has_value(), here[i].held_out_loss.has_value());
      EXPECT_NEAR(there[i].held_out_loss.value_or(0), here[i].held_out_loss.value_or(0), 1e-9);
      if (here[i].skipped) continue;
      EXPECT_NEAR(there[i].gradient_norm, here[i].gradient_norm, 1e-9);
    }
  }
}

/// Nothing of a step is read, but for events that the step before has recorded.
TEST(TrainingThere, ReadsNothingInAStep) {
  if (Runtime::size() > 1) return;  // its messages are another test's
  for (const char* compute : {"fp32", "fp16"}) {
    SCOPED_TRACE(compute);
    OnDevice training(pretend_device(), compute);
    training(0);
    reset_host_reads();
    training(1);
    for (const auto& [what, times] : host_reads()) {
      if (what != "Event::synchronize") ADD_FAILURE() << what << " " << times << " times";
    }
    training.step->settle();
  }
}

/// The CPU throws in the step, a device in the next one, or where it is settled. Also where gradients are
/// good.
TEST(TrainingThere, SaysOneStepLateThatALossIsBad) {
  for (const bool settles : {false, true}) {
    OnDevice here(at::kCPU, "fp32");
    OnDevice there(pretend_device(), "fp32");
    for (OnDevice* each : {&here, &there}) {
      for (const Parameter& parameter : each->small.gpt.parameters())
        if (settles) parameter.leaf().register_hook([](const at::Tensor& g) { return at::ones_like(g); });
      (*each)(0);
      const Parameter parameter = each->small.gpt.parameters().front();
      Vector value = parameter.get();
      Parameter(parameter).set(Vector(value.space(), value.local().mul(INFINITY)));
    }
    EXPECT_ERROR(here(1), "the loss of step 2 is not a number; lower optimizer.learning_rate");
    const std::vector<at::Tensor> before = there.weights();
    there(1);
    const std::vector<at::Tensor> after = there.weights();
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_SAME_BITS(after[i], before[i]);
    if (settles)
      EXPECT_ERROR(there.step->settle(), "the loss of step 2 is not a number; lower optimizer.learning_rate");
    else
      EXPECT_ERROR(there(2), "the loss of step 2 is not a number; lower optimizer.learning_rate");
    try {
      settle_late_checks();  // the step that threw has put off checks too
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace riesz::testing
