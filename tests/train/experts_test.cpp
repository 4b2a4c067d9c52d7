// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model with experts trains at every layout as on one worker: losses, norms, updates, and what gates chose.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/causal_model.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/step.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using Keys = Config::Layout;

constexpr std::int64_t kSteps = 4;

/// In sizes that few numbers of workers divide.
models::CausalConfig small_mixtral() {
  models::MixtralConfig config;
  config.layers = 2, config.heads = 4, config.key_value_heads = 2, config.width = 12, config.head_width = 4;
  config.hidden = 10;
  config.vocabulary = 10, config.context = 3, config.experts = 3, config.experts_per_token = 2;
  config.balance_weight = 0.5, config.balanced = true;
  return config;
}

/// Its experts take too few tokens.
models::CausalConfig small_gpt2_moe() {
  models::Gpt2MoeConfig config;
  config.layers = 2, config.heads = 2, config.width = 12, config.hidden = 10;
  config.vocabulary = 10, config.context = 3, config.experts = 3, config.experts_per_token = 2;
  config.experts_every = 1, config.balance_weight = 0.5, config.capacity_factor = 0.5;
  return config;
}

Config config_of(const Keys& layout, const std::string& optimizer) {
  Config config = testing::SmallGpt::one_digit();
  config.layout = layout;
  config.model.kind = "mixtral";
  config.optimizer.kind = optimizer;
  config.optimizer.clip = 0.3;  // below every norm
  config.train.micro_batches = 2;
  return config;
}

/// A training on these workers.
struct RoutedTraining {
  RoutedTraining(const Partition& workers, const Keys& layout, const std::string& optimizer = "lamb",
                 const models::CausalConfig& sizes = small_mixtral())
      : config(config_of(layout, optimizer)),
        task(config),
        mesh(workers.grid(job_axes(layout))),
        model(models::make_causal_model(
            layout_of(config, mesh, {{"model.layers.1", 1}, {"model.norm", 1}, {"lm_head", 1}}), sizes)),
        learner{model->module(), model->tokens(), model->targets(),
                [this](const Vector& ids) { return model->predictions(ids); }, mesh} {
    model->module().initialise(1, at::kDouble);
    step.emplace(config, learner);
  }
  RoutedTraining(const RoutedTraining&) = delete;
  RoutedTraining& operator=(const RoutedTraining&) = delete;

  std::vector<TrainingStep::Result> steps(std::int64_t from, std::int64_t to) {
    std::vector<TrainingStep::Result> all;
    for (std::int64_t i = from; i < to; ++i)
      all.push_back((*step)(i, task.batch(i * config.train.batch, config.train.batch)));
    return all;
  }

  Config config;
  AdderTask task;
  Partition mesh;
  std::unique_ptr<models::CausalModel> model;
  Learner learner;
  std::optional<TrainingStep> step;
};

Partition one_worker() { return Partition::world().subset({Runtime::rank()}); }

/// The layouts of this many workers.
std::vector<Keys> layouts_with_experts() {
  switch (Runtime::size()) {
    case 1:
      return {{}};
    case 2:
      return {{.dp = 2, .zero = 1},
              {.ep = 2},
              {.ep = 2, .zero = 3},
              {.ep = 2, .recompute = "blocks"},
              {.ep = 2, .experts = "tp", .zero = 1},
              {.ep = 2, .experts = "tp", .tensor = "sp"},
              {.tp = 2}};
    case 3:
      return {{.ep = 3, .zero = 2}, {.ep = 3, .experts = "tp"}};
    default:
      return {{.dp = 2, .ep = 2},
              {.dp = 2, .ep = 2, .zero = 3},
              {.ep = 4, .zero = 2},  // more workers than experts
              {.tp = 2, .ep = 2, .tensor = "sp"},
              {.tp = 2, .ep = 2, .experts = "tp", .zero = 1},
              {.ep = 2, .sp = 2, .sequence = "ring", .zero = 3},
              {.ep = 2, .sp = 2, .sequence = "ulysses"},
              {.ep = 2, .zero = 1, .pp = 2},
              {.ep = 2, .experts = "tp", .recompute = "blocks", .pp = 2}};
  }
}

std::string layout_text(const Keys& layout) {
  return concat(product_of(layout), ", experts like ", layout.experts, ", ", layout.tensor, ", ",
                layout.sequence, ", ZeRO ", layout.zero, ", recompute ", layout.recompute);
}

void expect_same_steps(const std::vector<TrainingStep::Result>& ours,
                       const std::vector<TrainingStep::Result>& theirs, bool drops = false) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i].loss, theirs[i].loss, 1e-10) << i;
    EXPECT_NEAR(ours[i].gradient_norm, theirs[i].gradient_norm, 1e-9 * theirs[i].gradient_norm) << i;
    EXPECT_GT(theirs[i].gradient_norm, 0.3) << i;
    ASSERT_EQ(ours[i].experts.size(), 3u);
    EXPECT_EQ(ours[i].experts[0], theirs[i].experts[0]) << i;  // counts of choices
    EXPECT_EQ(ours[i].experts[1], theirs[i].experts[1]) << i;
    EXPECT_EQ(theirs[i].experts[1] > 0, drops) << i;
    EXPECT_NEAR(ours[i].experts[2], theirs[i].experts[2], 1e-10) << i;
    EXPECT_GE(theirs[i].experts[0], 1) << i;
    EXPECT_GT(theirs[i].experts[2], 0) << i;
  }
}

/// LAMB's ratio of a matrix, and the norm that is clipped, count each expert once.
TEST(TrainingWithExperts, IsTheSameAtEveryLayout) {
  for (const std::string optimizer : {"lamb", "adamw"}) {
    RoutedTraining one(one_worker(), {}, optimizer);
    const std::vector<TrainingStep::Result> theirs = one.steps(0, kSteps);
    for (const Keys& layout : layouts_with_experts()) {
      if (optimizer == "adamw" && layout.zero != 3) continue;
      SCOPED_TRACE(concat(optimizer, ", ", layout_text(layout)));
      RoutedTraining many(Partition::world(), layout, optimizer);
      expect_same_steps(many.steps(0, kSteps), theirs);
    }
  }
}

/// The same choices are dropped, in a block that runs again too.
TEST(TrainingWithExperts, DropsTheSameChoicesAtEveryLayout) {
  const Keys again{.recompute = "blocks"};
  const std::vector<TrainingStep::Result> theirs =
      RoutedTraining(one_worker(), {}, "lamb", small_gpt2_moe()).steps(0, kSteps);
  const int p = Runtime::size();
  for (const Keys& layout :
       {again, Keys{.ep = p, .recompute = "blocks"}, Keys{.ep = p, .zero = 3, .recompute = "blocks"}}) {
    if (p > 1 && layout.ep == 1) continue;
    SCOPED_TRACE(layout_text(layout));
    RoutedTraining many(Partition::world(), layout, "lamb", small_gpt2_moe());
    expect_same_steps(many.steps(0, kSteps), theirs, /*drops=*/true);
  }
}

/// What is compared then is alike, though each worker sends other rows.
TEST(TrainingWithExperts, HasNothingToRefuseWithChecks) {
  const std::vector<TrainingStep::Result> theirs = RoutedTraining(one_worker(), {}).steps(0, 2);
  const bool before = consistency_checks();
  set_consistency_checks(true);
  RoutedTraining many(Partition::world(), {.ep = Runtime::size()});
  expect_same_steps(many.steps(0, 2), theirs);
  set_consistency_checks(before);
}

/// From experts that lie apart to none that do, to tensor parallelism, and back.
TEST(TrainingWithExperts, GoesOnAtAnotherLayout) {
  RoutedTraining one(one_worker(), {});
  const std::vector<TrainingStep::Result> theirs = one.steps(0, kSteps);
  const std::vector<TrainingStep::Result> later(theirs.begin() + 2, theirs.end());
  const int p = Runtime::size();
  const Keys apart{.ep = p, .zero = 2};
  const auto go_on = [&](const Keys& from, const Keys& to) {
    SCOPED_TRACE(concat(layout_text(from), " to ", layout_text(to)));
    RoutedTraining first(Partition::world(), from);
    first.steps(0, 2);
    SavedState saved(Partition::world(), first.step->state());
    RoutedTraining second(Partition::world(), to);
    second.steps(0, 1);  // which the state undoes
    saved.load(second.step->state());
    second.step->loaded();
    expect_same_steps(second.steps(2, kSteps), later);
  };
  go_on(apart, {.dp = p});
  go_on(apart, {.tp = p});
  go_on({.tp = p}, {.ep = p, .experts = "tp"});
}

/// What gates chose is known on one stage without a message. Stages tell each other in one.
TEST(TrainingWithExperts, SendsNothingToReportGates) {
  if (Runtime::size() != 4) return;
  const auto sent = [](const Keys& layout) {
    RoutedTraining many(Partition::world(), layout);
    Counters::instance().reset();
    Counters::instance().record(true);
    many.steps(0, 1);
    Traffic all;
    for (const TrafficRecord& record : Counters::instance().records())
      if (record.operation == "AllMax over pp") all += record.traffic;
    Counters::instance().record(false);
    return all;
  };
  EXPECT_EQ(sent({.dp = 2, .ep = 2}), Traffic{});
  EXPECT_EQ(sent({.ep = 2, .pp = 2}), (Traffic{6, 48, 1}));  // 3 numbers of each of two gates
}

/// Sums of micro-batches, of which one may run again: not the last one's alone.
TEST(GateReport, IsOverAllMicroBatches) {
  RoutedTraining one(one_worker(), {});
  const TrainingStep::Result whole = one.steps(0, 1).front();
  Keys again;
  again.recompute = "blocks";
  RoutedTraining other(one_worker(), again);
  EXPECT_EQ(other.steps(0, 1).front().experts.wait(), whole.experts.wait());
  const std::optional<ExpertRow> row = GateReport::row_of(whole.experts);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->expert_load, whole.experts[0]);
  EXPECT_EQ(row->gate_entropy, whole.experts[2]);
  EXPECT_FALSE(GateReport::row_of({}));
  testing::SmallGpt dense(one_worker().grid({{"dp", 1}, {"tp", 1}}));
  const Learner model = dense.model();
  EXPECT_EQ(GateReport(dense.gpt, model.workers).of_step(0).size(), 0u);
}

}  // namespace
}  // namespace riesz
