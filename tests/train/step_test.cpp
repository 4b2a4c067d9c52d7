// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training that is saved after some steps and goes on, made anew, is the one that was never stopped.
#include "riesz/train/loop/step.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/train/data/adder_task.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::SmallGpt;

/// Loss scales in fp64 too; dropout, so that the step's number counts; and a frozen parameter.
Config config_at(
    std::int64_t zero, const std::function<void(Config&)>& more = [](Config&) {}) {
  Config config = SmallGpt::one_digit();
  config.compute = "fp16";
  config.model.dropout = 0.2;
  config.optimizer.clip = 1;
  config.layout.zero = zero;
  config.train.micro_batches = 2;
  more(config);
  return config;
}

struct Training {
  Training(
      int dp, int tp, std::int64_t zero, std::uint64_t seed,
      const std::function<void(Config&)>& more = [](Config&) {})
      : config(config_at(zero, more)),
        task(config),
        small(dp, tp, config.model.dropout),
        model(small.model()) {
    small.gpt.initialise(seed, at::kDouble);
    small.gpt.parameters()[1].freeze();
    step.emplace(config, model);
  }

  std::vector<double> steps(std::int64_t from, std::int64_t to) {
    std::vector<double> numbers;
    for (std::int64_t i = from; i < to; ++i) {
      const TrainingStep::Result result = (*step)(i, task.batch(i * config.train.batch, config.train.batch));
      numbers.insert(numbers.end(), {result.loss, result.gradient_norm});
    }
    return numbers;
  }

  std::vector<at::Tensor> weights() {
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : small.gpt.parameters()) all.push_back(testing::meant(parameter.get()));
    return all;
  }

  Config config;
  AdderTask task;
  SmallGpt small;
  Learner model;
  std::optional<TrainingStep> step;
};

at::Tensor scale_in(const State& state) {
  for (const StateView& view : state) {
    if (view.name == "loss_scale" && view.key == "value") return view.tensor;
  }
  return {};
}

TEST(TrainingStep, GoesOnFromItsStateAtAnyLayout) {
  const int size = Runtime::size();
  Training one(size, 1, 3, 1);
  scale_in(one.step->state()).fill_(64);
  one.steps(0, 3);
  const SavedState saved(Partition::world(), one.step->state());
  const std::vector<double> numbers = one.steps(3, 6);
  const std::vector<at::Tensor> weights = one.weights();

  for (const bool same : {true, false}) {
    Training other(same ? size : 1, same ? 1 : size, same ? 3 : 1, 2);
    other.steps(0, 1);
    saved.load(other.step->state());
    EXPECT_EQ(scale_in(other.step->state()).item<double>(), 64);

    const std::vector<double> again = other.steps(3, 6);

    const std::vector<at::Tensor> after = other.weights();
    ASSERT_EQ(again.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_NEAR(again[i], numbers[i], same ? 0 : 1e-10 * numbers[i]);
    }
    ASSERT_EQ(after.size(), weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (same)
        EXPECT_SAME_BITS(after[i], weights[i]);
      else
        EXPECT_TRUE(after[i].allclose(weights[i], 1e-10, 1e-10)) << i;
    }
  }
}

/// With clipping, skipped steps and a frozen parameter; the state goes on in memory and on the disk again.
TEST(TrainingStep, KeepsTheOptimizersStateOnADisk) {
  const testing::SharedFolder folder;
  const int size = Runtime::size();
  for (const std::int64_t zero : {1, 2}) {
    SCOPED_TRACE(zero);
    const auto on_disk = [&](Config& config) {
      config.offload = {.state = "disk", .path = folder.path().string(), .depth = 1};
    };
    Training in_memory(size, 1, zero, 1), disk(size, 1, zero, 1, on_disk), again(size, 1, zero, 2, on_disk);
    EXPECT_GT(disk.step->memory().optimizer_elsewhere, 0);
    EXPECT_EQ(in_memory.step->memory().optimizer_elsewhere, 0);
    EXPECT_EQ(disk.steps(0, 3), in_memory.steps(0, 3));
    SavedState(Partition::world(), disk.step->state()).load(again.step->state());
    const std::vector<double> numbers = in_memory.steps(3, 5);
    EXPECT_EQ(disk.steps(3, 5), numbers);
    EXPECT_EQ(again.steps(3, 5), numbers);
    const std::vector<at::Tensor> expected = in_memory.weights(), found = again.weights();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_SAME_BITS(found[i], expected[i]);
  }
}

/// A GPT of four blocks, on two stages if pp is 2; of the other ranks each has some rows.
SmallGpt four_blocks(int pp) {
  const Partition all = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}, {"tp", 1}});
  if (pp == 1) return {all.at("pp", 0), spaces::one_d(all.at("pp", 0)), 4, 0.1};
  const std::map<std::string, int> stages{
      {"transformer.h.2", 1}, {"transformer.h.3", 1}, {"transformer.ln_f", 1}, {"lm_head", 1}};
  return {all, spaces::placed({spaces::one_d(all.at("pp", 0)), spaces::one_d(all.at("pp", 1))}, stages), 4,
          0.1};
}

/// Each loss and norm, and the bytes on the disk.
std::pair<std::vector<double>, std::int64_t> losses(const Config& config) {
  SmallGpt small = four_blocks(static_cast<int>(config.layout.pp));
  const Learner model = small.model();
  const AdderTask task(config);
  TrainingStep step(config, model);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < 3; ++i) {
    const TrainingStep::Result result = step(i, task.batch(i * config.train.batch, config.train.batch));
    numbers.insert(numbers.end(), {result.loss, result.gradient_norm});
  }
  EXPECT_EQ(step.activation_place().starts_with("the disk of \""), config.offload.activations == "disk");
  return {numbers, step.memory().activations_on_disk};
}

TEST(TrainingStep, SavesOnADiskWhatBlocksSave) {
  const testing::SharedFolder folder;
  for (const bool stages : {false, true}) {
    for (const char* recompute : {"none", "blocks"}) {
      if (stages && (Runtime::size() % 2 > 0 || recompute[0] == 'b')) continue;
      SCOPED_TRACE(concat(stages ? "on stages, " : "", recompute));
      Config config = SmallGpt::one_digit();
      config.layout.pp = stages ? 2 : 1;
      config.layout.zero = 2;
      config.layout.recompute = recompute;
      config.pipeline.schedule = "one_f_one_b";
      config.train.batch = 1024, config.train.micro_batches = 4;
      const auto [in_memory, none] = losses(config);
      config.offload = {.activations = "disk", .path = folder.path().string(), .depth = 1};
      const auto [on_disk, bytes] = losses(config);
      EXPECT_EQ(on_disk, in_memory);
      EXPECT_EQ(none, 0);
      EXPECT_GT(bytes, 0);
    }
  }
}

TEST(TrainingStep, LeavesOutWhatPatternsMean) {
  for (const std::int64_t zero : {0, 3}) {
    Config config = config_at(zero);
    config.train.frozen = "transformer.w?e transformer.h.0.mlp";
    AdderTask task(config);
    SmallGpt small(Runtime::size(), 1, 0);
    small.gpt.initialise(1, at::kDouble);
    const Learner model = small.model();
    TrainingStep step(config, model);
    std::map<std::string, at::Tensor> before;
    for (const Parameter& each : small.gpt.parameters()) before[each.name()] = testing::meant(each.get());
    step(0, task.batch(0, config.train.batch));
    std::int64_t held = 0;
    for (const Parameter& each : small.gpt.parameters()) {
      const bool frozen =
          each.name().starts_with("transformer.w") || each.name().find("h.0.mlp") != std::string::npos;
      if (frozen) held += static_cast<std::int64_t>(each.value().local().nbytes());
      EXPECT_EQ(each.trained(), !frozen) << each.name();
      EXPECT_TRUE(!frozen || at::equal(testing::meant(each.get()), before.at(each.name()))) << each.name();
    }
    EXPECT_EQ(step.memory().untrained, held);
    EXPECT_GT(held, 0);
    for (const StateView& view : step.state())
      EXPECT_FALSE(view.key != "value" && view.name.starts_with("transformer.w"))
          << view.name << " " << view.key;
  }
  SmallGpt small(Runtime::size(), 1, 0);
  small.gpt.initialise(1, at::kDouble);
  const Learner model = small.model();
  Config config = config_at(0);
  config.train.frozen = "lm_head transformer.blocks";
  EXPECT_ERROR(TrainingStep(config, model), "train.frozen", "\"transformer.blocks\" means no parameter");
  config.train.frozen = "*";
  EXPECT_ERROR(TrainingStep(config, model), "train.frozen", "freezes the whole model");
}

/// A model's own loss is a mean over its rows, so each micro-batch has the share of its rows.
TEST(TrainingStep, AddsTheModelsOwnLossHoweverABatchIsCut) {
  Config config = SmallGpt::one_digit();
  const AdderTask task(config);
  const Batch batch = task.batch(0, config.train.batch);
  const auto result = [&](std::int64_t parts, double weight) {
    config.train.micro_batches = parts;
    SmallGpt small(Runtime::size(), 1);
    Learner model = small.model();
    model.logits = [&](const Vector& x) -> Predictions {
      const Vector logits = small.gpt(x);
      if (weight == 0) return logits;
      return {logits, weight * mean(square(logits), {}, {.all_reduce = true})};
    };
    return TrainingStep(config, model)(0, batch);
  };
  SmallGpt small(Runtime::size(), 1);
  const Learner same = small.model();
  double own = 0;
  for (std::int64_t position = 0; position < 3; ++position)
    own += predict(same, batch.inputs.whole().narrow(1, 0, position + 1)).square().mean().item<double>() / 3;
  const double without = result(1, 0).loss, norm = result(1, 0.5).gradient_norm;
  EXPECT_GT(std::abs(norm - result(1, 0).gradient_norm), 1e-6);
  for (const std::int64_t parts : {1, 2, 5}) {
    const TrainingStep::Result with = result(parts, 0.5);
    EXPECT_NEAR(with.loss, without + 0.5 * own, 1e-12) << parts;
    EXPECT_NEAR(with.gradient_norm, norm, 1e-12) << parts;
  }
}

/// In its second micro-batch, on all workers.
TEST(TrainingStep, IsMadeAgainAfterItThrew) {
  for (const int zero : {0, 2, 3}) {
    SCOPED_TRACE(zero);
    Training straight(Runtime::size(), 1, zero, 1), again(Runtime::size(), 1, zero, 1);
    for (Training* each : {&straight, &again}) scale_in(each->step->state()).fill_(64);
    int calls = 0;
    const auto logits = again.model.logits;
    again.model.logits = [&](const Vector& x) {
      if (++calls == 2) throw std::runtime_error("no such picture");
      return logits(x);
    };
    EXPECT_THROW(again.steps(0, 1), std::exception);
    EXPECT_EQ(again.steps(0, 2), straight.steps(0, 2));
  }
}

}  // namespace
}  // namespace riesz
