// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A stage that has no parameters of its own (a tied output layer alone), or none that is trained, takes part
// in every decision: norm, scale and skipped steps are those of one worker.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/step.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::SmallGpt;

constexpr std::int64_t kMicroBatches = 2;

struct Case {
  const char* precision;
  bool tied;
  std::string frozen;  ///< the module that is, such as "lm_head"
  std::int64_t zero;
};

Config config_of(const Case& one, int pp) {
  Config config = SmallGpt::one_digit();
  config.precision = one.precision;
  config.optimizer.clip = 0.5;
  config.layout.pp = pp;
  config.layout.zero = one.zero;
  config.pipeline.schedule = "one_f_one_b";
  config.train.micro_batches = kMicroBatches;
  config.train.steps = 40;
  return config;
}

at::ScalarType type_of(const std::string& precision) {
  if (precision == "fp16") return at::kHalf;
  return precision == "bf16" ? at::kBFloat16 : precision == "fp32" ? at::kFloat : at::kDouble;
}

/// In fp16 the first steps are at a scale that overflows for certain, the others at one that does not:
/// between them it depends on where sums are rounded.
std::vector<TrainingStep::Result> steps(const Case& one, const Config& config, SmallGpt& small,
                                        std::int64_t count = 9) {
  small.gpt.initialise(1, type_of(one.precision));
  for (Parameter parameter : small.gpt.parameters()) {
    const std::string& name = parameter.name();
    if (!one.frozen.empty() && name.starts_with(one.frozen)) parameter.freeze();
  }
  const Learner model = small.model();
  const AdderTask task(config);
  TrainingStep step(config, model);
  const auto set_scale = [&](double value) {
    for (const StateView& view : step.state()) {
      if (view.name == "loss_scale" && view.key == "value" && view.tensor.numel() > 0)
        view.tensor.fill_(value);
    }
  };
  std::vector<TrainingStep::Result> results;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0) set_scale(0x1p40);
    if (i == 3) set_scale(0x1p8);
    results.push_back(step(i, task.batch(i, config.train.batch)));
  }
  return results;
}

std::vector<TrainingStep::Result> on_stages(const Case& one, int pp) {
  const Config config = config_of(one, pp);
  SmallGpt small = SmallGpt::placed(pipeline_schedule(config), 0, one.tied);
  return steps(one, config, small);
}

std::vector<TrainingStep::Result> on_one(const Case& one, int pp, std::int64_t count = 9) {
  Config config = config_of(one, pp);
  config.layout.pp = 1;
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  SmallGpt small(alone, spaces::one_d(alone), std::max(pp - 1, 1), 0, one.tied);
  return steps(one, config, small, count);
}

/// Two blocks: a stage for each, the second with the output layer; or, on three stages, that one alone.
std::vector<TrainingStep::Result> two_blocks_on_stages(const Case& one, int pp, std::int64_t count) {
  const Config config = config_of(one, pp);
  const Partition all = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}, {"tp", 1}});
  std::vector<Layout> layouts;
  for (int stage = 0; stage < pp; ++stage) layouts.push_back(spaces::one_d(all.at("pp", stage)));
  const std::map<std::string, int> stage_of{
      {"transformer.h.0", 0}, {"transformer.h.1", 1}, {"transformer.ln_f", 1}, {"lm_head", pp - 1}};
  SmallGpt small(all, spaces::placed(layouts, stage_of), 2, 0, one.tied);
  return steps(one, config, small, count);
}

void expect_same(const Case& one, int pp) {
  SCOPED_TRACE(::testing::Message() << one.precision << (one.tied ? ", tied" : "") << ", frozen "
                                    << one.frozen << ", ZeRO " << one.zero << ", pp " << pp);
  const std::vector<TrainingStep::Result> ours = on_stages(one, pp), theirs = on_one(one, pp);
  const at::ScalarType type = type_of(one.precision);
  const double near = type == at::kDouble ? 1e-10 : type == at::kFloat ? 1e-4 : 0.05;
  int skipped = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_EQ(ours[i].skipped, theirs[i].skipped) << i;
    EXPECT_NEAR(ours[i].loss, theirs[i].loss, near * theirs[i].loss) << i;
    skipped += theirs[i].skipped ? 1 : 0;
    if (theirs[i].skipped) continue;
    EXPECT_GT(ours[i].gradient_norm, 0) << i;
    EXPECT_NEAR(ours[i].gradient_norm, theirs[i].gradient_norm, near * theirs[i].gradient_norm) << i;
  }
  EXPECT_EQ(skipped, type == at::kHalf ? 3 : 0);
}

void expect_same_on_all_stages(const Case& one) {
  for (int pp = 2; pp <= Runtime::size(); ++pp) {
    if (Runtime::size() % pp == 0) expect_same(one, pp);
  }
}

TEST(StagesWithoutParameters, DecideAsTheOthers) {
  for (const char* precision : {"fp16", "bf16", "fp32", "fp64"}) {
    for (const std::int64_t zero : {0, 1, 2}) expect_same_on_all_stages({precision, true, "", zero});
  }
}

/// A whole training in fp16: three steps overflow and are skipped, and the losses are those of one rank, on
/// two stages and on three, whose last has no parameters of its own.
TEST(StagesWithoutParameters, TrainInHalfPrecisionAsOneRank) {
  constexpr std::int64_t kSteps = 40;
  const Case one{"fp16", true, "", 0};
  const std::vector<TrainingStep::Result> theirs = on_one(one, 3, kSteps);
  for (const int pp : {2, 3}) {
    if (Runtime::size() % pp != 0) continue;
    SCOPED_TRACE(pp);
    const std::vector<TrainingStep::Result> ours = two_blocks_on_stages(one, pp, kSteps);
    int skipped = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      EXPECT_EQ(ours[i].skipped, theirs[i].skipped) << i;
      EXPECT_NEAR(ours[i].loss, theirs[i].loss, 0.05 * theirs[i].loss) << i;
      skipped += ours[i].skipped ? 1 : 0;
    }
    EXPECT_EQ(skipped, 3);
    EXPECT_LT(ours.back().loss, ours.front().loss);
    RecordProperty("last_loss",
                   std::to_string(ours.back().loss) + " beside " + std::to_string(theirs.back().loss));
  }
}

TEST(StagesThatAreFrozen, DecideAsTheOthers) {
  for (const char* precision : {"fp16", "bf16", "fp32"}) {
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      expect_same_on_all_stages({precision, false, "lm_head", zero});
      expect_same_on_all_stages({precision, false, "transformer.", zero});
    }
  }
}

/// A program's own loop: an optimizer of the whole model, and a gradient that is not finite on one stage.
TEST(StagesWithoutParameters, AreAmongTheWorkersOfTheModelsStore) {
  const int pp = Runtime::size();
  if (pp < 2) return;
  const Config config = config_of({"fp64", true, "", 0}, pp);
  const AdderTask task(config);
  SmallGpt small = SmallGpt::placed(pipeline_schedule(config), 0, true);
  const Learner model = small.model();
  const Pipeline pipeline(small.gpt, pipeline_schedule(config));
  EXPECT_TRUE(pipeline.parameters(pp - 1).empty());
  AdamW optimizer(whole(small.gpt));
  LossScale scale({.initial = 4, .hysteresis = 1});
  const auto train = [&] {
    pipeline.train([&](std::int64_t) { return loss_of(model, task.batch(0, 5)).mean(); });
  };
  train();
  EXPECT_TRUE(scale.unscale(*optimizer.store()));
  EXPECT_GT(clip_gradients(*optimizer.store(), 1), 0);
  optimizer.step();
  optimizer.zero_gradients();
  train();
  if (pipeline.workers(0).active())
    pipeline.parameters(0).front().leaf().mutable_grad().fill_(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(scale.unscale(*optimizer.store()));
  EXPECT_EQ(scale.value(), 2);
  EXPECT_ERROR(optimizer.step(), "has an element that is NaN or infinite");
}

/// What the page shows.
TEST(StageZeros, AreWhatAProgramNeeds) {
  const int pp = Runtime::size();
  const Config config = config_of({"fp64", true, "", 0}, pp);
  const AdderTask task(config);
  SmallGpt small = SmallGpt::placed(pipeline_schedule(config), 0, true);
  models::MinGpt& model = small.gpt;
  const Learner learner = small.model();
  const auto loss = [&](std::int64_t) { return loss_of(learner, task.batch(0, 5)).mean(); };
  const std::int64_t m = pipeline_schedule(config).micro_batches;
  Pipeline pipeline(model, pipeline_schedule(config));
  std::vector<double> norms;

  StageZeros zeros(model, {.stage = 1});
  AdamW optimizer(zeros.store(), {.learning_rate = 3e-3});
  LossScale scale;  // for fp16
  for (int step = 0; step < 3; ++step) {
    pipeline.train([&](std::int64_t i) { return scale.scaled(loss(i), 1.0 / static_cast<double>(m)); });
    if (scale.unscale(*zeros.store())) {
      norms.push_back(clip_gradients(*zeros.store(), 1.0));
      optimizer.step();
    }
    optimizer.zero_gradients();
  }

  EXPECT_EQ(scale.skipped(), 0);
  for (const double norm : norms) EXPECT_GT(norm, 0);
}

/// Each stage's Zero by hand.
TEST(StagesWithoutParameters, HaveAZero) {
  const int pp = Runtime::size();
  if (pp < 2) return;
  const Config config = config_of({"fp64", true, "", 0}, pp);
  SmallGpt small = SmallGpt::placed(pipeline_schedule(config), 0, true);
  const Pipeline pipeline(small.gpt, pipeline_schedule(config));
  EXPECT_ERROR(Zero(pipeline.parameters(pp - 1)), "Zero: there are no parameters", "pipeline.workers(c)");
  EXPECT_ERROR(Zero(pipeline.parameters(0), pipeline.workers(pp - 1)),
               "of ranks 0, which are other workers than those", " of ranks " + std::to_string(pp - 1),
               "StageZeros(model, options)");
  if (pp > 2) {
    EXPECT_ERROR(Zero(small.gpt.parameters()), " of ranks 1, ", " of ranks 0; they must share one partition",
                 "StageZeros(model, options)");
  }
  for (const int stage : {0, 1, 2, 3}) {
    SmallGpt again = SmallGpt::placed(pipeline_schedule(config), 0, true);
    const Pipeline run(again.gpt, pipeline_schedule(config));
    std::deque<Zero> zeros;
    std::vector<std::shared_ptr<Store>> stores;
    for (int chunk = 0; chunk < pp; ++chunk) {
      zeros.emplace_back(run.parameters(chunk), run.workers(chunk), ZeroOptions{.stage = stage});
      stores.push_back(zeros.back().store());
    }
    EXPECT_TRUE(several(stores)->partition().active());
    EXPECT_EQ(zeros.back().holdings().parameters, 0);
  }
}

}  // namespace
}  // namespace riesz
