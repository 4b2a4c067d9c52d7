// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A placed model trains on a pipeline what it trains on one worker. bench/pipeline_product.cpp runs all the
// courses of which some are run here.
#include "riesz/pipeline/run/pipeline.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "product.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/pipeline/partitioner/stage_grids.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// On all numbers of ranks together, every two values of grid, schedule, recompute, ZeRO, runs and tied.
TEST(Pipeline, TrainsWhatOneWorkerDoes) {
  PlacedCourse one;
  one.micro_batches = 1;
  one.steps = 2;
  const TrainingRun untied = train_alone(one);
  one.config.tied = true;
  const TrainingRun tied = train_alone(one);
  int here = 0;
  const auto cost = [](const Choice& choice) { return 2 + ranks_of(choice); };
  for (const Choice& choice : covering_pairs(all_courses(3), cost)) {
    if (ranks_of(choice) != Runtime::size()) continue;
    PlacedCourse course = course_of(choice);
    course.steps = one.steps;
    SCOPED_TRACE(to_string(course));
    EXPECT_TRUE(compare_runs(train_placed(course), course.config.tied ? tied : untied));
    ++here;
  }
  EXPECT_GE(here, 3);
}

/// With the first stages all frozen, of which some have no backward, and parts of the others.
TEST(Pipeline, TrainsBesideFrozenPartsWhatOneWorkerDoes) {
  PlacedCourse one;
  one.micro_batches = 1;
  one.steps = 2;
  one.frozen = {"transformer.w?e", "transformer.h.[0-2]", "transformer.h.4.ln_1", "transformer.h.3.*.*.bias"};
  const TrainingRun alone = train_alone(one);
  EXPECT_EQ(alone.results.at("gradient of transformer.h.2.mlp.c_fc.weight").abs().max().item<double>(), 0);
  for (const std::string schedule : {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v"}) {
    PlacedCourse course = one;
    course.schedule = schedule;
    course.chunks = schedule == "interleaved" || schedule == "zb_v" ? 2 : 1;
    course.pp = Runtime::size() % 3 == 0 ? 3 : Runtime::size() == 1 ? 1 : 2;
    course.dp = Runtime::size() / course.pp;
    course.micro_batches = course.pp == 3 ? 3 : 4;
    if (course.dp > 1) course.zero = ZeroOptions{.stage = course.chunks + 1, .bucket = 3000, .keep = 50};
    SCOPED_TRACE(to_string(course));
    EXPECT_TRUE(compare_runs(train_placed(course), alone));
  }
}

/// Norms of whole parameters, of which stages have some, and workers of a stage parts; means over rows and
/// columns.
TEST(Pipeline, StepsByLambAndAdafactorAsOneWorkerDoes) {
  if (Runtime::size() != 2 && Runtime::size() != 4) return;
  const bool four = Runtime::size() == 4;
  for (const bool lamb : {true, false}) {
    PlacedCourse course;
    course.config.layers = 2;
    course.steps = 2;
    course.optimizer = [lamb](const std::shared_ptr<Store>& store) -> std::unique_ptr<Optimizer> {
      if (lamb) return std::make_unique<Lamb>(store, LambOptions{.learning_rate = 1e-2});
      return std::make_unique<Adafactor>(store, AdafactorOptions{.epsilon1 = 1e-3, .weight_decay = 0.1});
    };
    const TrainingRun alone = train_alone(course);
    course.pp = 2;
    course.schedule = "one_f_one_b";
    if (four && lamb) course.dp = 2, course.zero = ZeroOptions{.stage = 3, .keep = 50};
    if (four && !lamb) course.tp = 2;
    SCOPED_TRACE(concat(lamb ? "LAMB" : "Adafactor", " of ", to_string(course)));
    EXPECT_TRUE(compare_runs(train_placed(course), alone));
  }
}

std::vector<at::Tensor> values_of(const models::MinGpt& model) {
  std::vector<at::Tensor> values;
  for (const Parameter& parameter : model.parameters()) values.push_back(parameter.get().local());
  return values;
}

/// One number of the first stage's gradients, on one of its workers.
TEST(Pipeline, LeavesOutAStepThatOverflowsInOneStage) {
  if (Runtime::size() != 2 && Runtime::size() != 4) return;
  PlacedCourse course;
  course.config.layers = 2;
  course.pp = 2;
  course.dp = Runtime::size() / 2;
  course.schedule = "one_f_one_b";
  course.type = at::kHalf;
  course.zero = ZeroOptions{.stage = 2};
  LossScale scale({.initial = 1024, .hysteresis = 1});
  course.scale = scale.value();
  PlacedModel placed(course);
  const std::shared_ptr<Store>& store = placed.state().store();
  AdamW optimizer(store);
  const std::vector<at::Tensor> before = values_of(placed.model());
  for (const bool overflows : {true, false}) {
    placed.go(0);
    const std::vector<Share> shares = store->shares();
    if (overflows && Runtime::rank() == 0)
      shares.front().gradient.narrow(0, 0, 1).fill_(std::numeric_limits<double>::infinity());
    EXPECT_EQ(scale.unscale(*store), !overflows);
    EXPECT_EQ(scale.value(), 512);
    if (!overflows) optimizer.step();
    optimizer.zero_gradients();
    const std::vector<at::Tensor> after = values_of(placed.model());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool here = before[i].numel() > 0;
      EXPECT_EQ(at::equal(after[i], before[i]), overflows || !here) << placed.model().parameters()[i].name();
    }
  }
}

void set_times(CostTree& tree) {
  if (tree.path.starts_with("transformer.h.") && tree.path.ends_with(".mlp")) tree.own.time = 1;
  if (tree.path == "lm_head") tree.own.time = 1.5;
  for (CostTree& part : tree.children) set_times(part);
}

/// As PipeDream plans it: a stage of two workers, and one of one.
TEST(Pipeline, TrainsAPlanWhoseStagesHaveSeveralWorkers) {
  if (Runtime::size() != 3) return;
  PlacedCourse course;
  course.config.layers = 3;
  course.steps = 2;
  const TrainingRun alone = train_alone(course);
  CostTree tree = cost_tree(
      models::MinGpt(spaces::one_d(Partition::simulated(1).grid({{"dp", 1}, {"tp", 1}})), course.config));
  set_times(tree);
  course.plan = partition_by("pipedream", tree, Runtime::size(), {.replicas = 2});
  ASSERT_EQ(course.plan->stages.size(), 2U);
  EXPECT_EQ(course.plan->stages[0].workers, 2);
  course.pp = 2;
  for (const std::string schedule : {"one_f_one_b", "zb_h1"}) {
    SCOPED_TRACE(schedule);
    course.schedule = schedule;
    course.zero = schedule == "zb_h1" ? std::optional(ZeroOptions{.stage = 3, .keep = 50}) : std::nullopt;
    EXPECT_TRUE(compare_runs(train_placed(course), alone));
  }
  EXPECT_ERROR(stage_grids(*course.plan, Partition::simulated(4)),
               "the plan has 3 workers in its stages, and (world=4) 4");
  course.plan->stages[0].by_level = {1, 2};
  EXPECT_ERROR(stage_grids(*course.plan, Partition::world()), "stage 0 of the plan lies on several hosts");
}

TEST(Pipeline, EvaluatesAsOneWorkerDoes) {
  for (const std::string schedule : {"gpipe", "interleaved", "zb_v"}) {
    if (Runtime::size() > 4 && schedule != "interleaved") continue;
    PlacedCourse course;
    course.schedule = schedule;
    course.chunks = schedule == "gpipe" ? 1 : 2;
    course.config.tied = schedule == "interleaved";
    course.pp = Runtime::size() % 3 == 0 ? 3 : Runtime::size() % 2 == 0 ? 2 : 1;
    course.dp = Runtime::size() / course.pp;
    course.micro_batches = 2 * course.pp;
    SCOPED_TRACE(to_string(course));
    const std::vector<at::Tensor> logits = PlacedModel(course).evaluate();
    const std::vector<at::Tensor> expected = evaluate_alone(course);
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_FALSE(logits[i].requires_grad());
      EXPECT_TRUE(at::allclose(logits[i], expected[i], 1e-10, 1e-12)) << "micro-batch " << i;
    }
  }
}

}  // namespace
}  // namespace riesz::testing
