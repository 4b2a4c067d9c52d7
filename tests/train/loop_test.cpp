// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/loop.h"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/schedule.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/session.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::SmallGpt;

Trained run(
    int dp, int tp, const Config& config, const OnStep& on_step = [](const Row&) {}, const Stop& stop = {}) {
  SmallGpt small(dp, tp, config.model.dropout);
  const Learner model = small.model();
  TrainingStep step(config, model);
  return run_training(config.train, step, model, AdderTask(config), on_step, stop);
}

TEST(Loop, HasARowForEachStep) {
  const Config config = SmallGpt::one_digit();
  std::vector<Row> seen;

  const Trained trained = run(1, Runtime::size(), config, [&](const Row& row) { seen.push_back(row); });

  ASSERT_EQ(trained.rows.size(), 6u);
  EXPECT_EQ(seen, trained.rows);
  for (std::int64_t step = 0; step < 6; ++step) {
    const Row& row = trained.rows[static_cast<std::size_t>(step)];
    EXPECT_EQ(row.step, step + 1);
    EXPECT_EQ(row.learning_rate, warm_up_cosine(step, 2, 6, 0.01, 0));
    EXPECT_EQ(row.held_out_loss.has_value(), row.step == 4 || row.step == 6);
    EXPECT_GT(row.gradient_norm, 0);
    EXPECT_GT(row.rate, 0);
  }
  EXPECT_GE(trained.rows.back().seconds, trained.seconds);
}

TEST(Loop, Learns) {
  Config config = SmallGpt::one_digit();
  config.train.steps = 60;
  config.train.batch = 40;

  const Trained trained = run(Runtime::size(), 1, config);

  EXPECT_NEAR(trained.rows.front().loss, std::log(10.0), 0.1);
  EXPECT_LT(trained.rows.back().loss, 1.6);
}

TEST(Loop, HasTheSameLossesAtEveryLayout) {
  Config config = SmallGpt::one_digit();
  config.model.dropout = 0.2;

  const Trained data = run(Runtime::size(), 1, config);
  const Trained tensor = run(1, Runtime::size(), config);

  for (std::size_t step = 0; step < 6; ++step) {
    EXPECT_NEAR(data.rows[step].loss, tensor.rows[step].loss, 1e-12);
    EXPECT_NEAR(data.rows[step].gradient_norm, tensor.rows[step].gradient_norm, 1e-10);
  }
}

TEST(Loop, HasTheSameLossesWhereverStateLives) {
  Config config = SmallGpt::one_digit();
  const Trained one = run(1, Runtime::size(), config);
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    for (const std::int64_t micro_batches : {1, 2}) {
      config.layout.zero = stage;
      config.train.micro_batches = micro_batches;
      const Trained trained = run(Runtime::size(), 1, config);
      for (std::size_t step = 0; step < 6; ++step) {
        EXPECT_NEAR(trained.rows[step].loss, one.rows[step].loss, 1e-12);
        EXPECT_NEAR(trained.rows[step].gradient_norm, one.rows[step].gradient_norm, 1e-10);
      }
    }
  }
}

/// Every kind of update and pace goes through a run, and each trains otherwise than the others.
TEST(Loop, UpdatesAsItIsTold) {
  std::set<double> losses;
  const auto last_loss = [](const Config& config) {
    return run(Runtime::size(), 1, config).rows.back().loss;
  };
  for (const char* kind : {"adamw", "adam", "sgd", "lamb", "adafactor", "one_bit_adam"}) {
    Config config = SmallGpt::one_digit();
    config.optimizer.kind = kind;
    config.optimizer.freeze = 2;
    config.optimizer.clip = kind == std::string("one_bit_adam") ? 0 : 1;
    EXPECT_TRUE(losses.insert(last_loss(config)).second) << kind;
  }
  for (const char* kind : {"linear", "constant", "one_cycle", "range_test"}) {
    Config config = SmallGpt::one_digit();
    config.schedule.kind = kind;
    config.schedule.floor = 1e-4;
    config.schedule.rise = 3;
    EXPECT_TRUE(losses.insert(last_loss(config)).second) << kind;
    config.optimizer.kind = "adafactor";
    EXPECT_TRUE(losses.insert(last_loss(config)).second) << kind;
  }
}

/// The model is called with the rows of a step's micro-batches: 5 rows as 3 and 2, in training and
/// evaluation.
TEST(Loop, MeasuresTheHeldOutLossInMicroBatchesAlsoOnAPipeline) {
  if (Runtime::size() > 2) return;
  Config config = SmallGpt::one_digit();
  config.layout.pp = Runtime::size();
  config.pipeline.schedule = "one_f_one_b";
  config.train.micro_batches = 2;
  config.train.steps = config.train.eval_every = 1;
  config.schedule.warm_up = 0;
  config.train.eval_size = 10;
  SmallGpt small = SmallGpt::placed(pipeline_schedule(config));
  Learner model = small.model();
  std::vector<std::int64_t> rows;
  model.logits = [&](const Vector& x) {
    rows.push_back(x.space().shape()[0]);
    return small.gpt(x);
  };
  TrainingStep step(config, model);
  run_training(config.train, step, model, AdderTask(config), [](const Row&) {});
  EXPECT_EQ(rows, (std::vector<std::int64_t>{3, 2, 3, 2, 3, 2}));
}

std::vector<Row> rows_of(const Config& config, SmallGpt& small) {
  const Learner model = small.model();
  TrainingStep step(config, model);
  return run_training(config.train, step, model, AdderTask(config), [](const Row&) {}).rows;
}

void expect_near(const std::vector<Row>& found, const std::vector<Row>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_NEAR(found[step].loss, expected[step].loss, 1e-12);
    EXPECT_NEAR(found[step].gradient_norm, expected[step].gradient_norm, 1e-10);
  }
  EXPECT_NEAR(*found.back().held_out_loss, *expected.back().held_out_loss, 1e-12);
}

/// Tied weights of a V's first and last chunk, which are one worker's; and of different workers' chunks.
TEST(Loop, HasTheSameLossesOnAPipelineWhoseWeightsAreTied) {
  if (Runtime::size() != 4) return;
  Config config = SmallGpt::one_digit();
  config.layout.pp = 2;
  config.layout.zero = 2;
  config.train.micro_batches = 4;
  config.train.steps = 3;
  Config flat = config;
  flat.layout = {.dp = 4};
  for (const char* name : {"zb_v", "interleaved"}) {
    config.pipeline.schedule = name;
    const Schedule table = pipeline_schedule(config);
    const Partition all = Partition::world().grid({{"dp", 4}, {"tp", 1}});
    SmallGpt one(all, spaces::one_d(all), table.chunks() - 1, 0, true);
    SmallGpt placed = SmallGpt::placed(table, 0, true);
    expect_near(rows_of(config, placed), rows_of(flat, one));
  }
}

/// To the first stage, after the block that alone is the second's.
TEST(Loop, HasTheSameLossesOnAPipelineThatComesBack) {
  if (Runtime::size() != 4) return;
  Config config = SmallGpt::one_digit();
  config.layout = {.dp = 2, .zero = 2, .pp = 2};
  config.pipeline.schedule = "gpipe";
  config.train.micro_batches = 4;
  config.train.steps = 3;
  const Partition all = Partition::world().grid({{"pp", 2}, {"dp", 2}, {"tp", 1}});
  const Partition flat = Partition::world().grid({{"dp", 4}, {"tp", 1}});
  SmallGpt one(flat, spaces::one_d(flat), 3, 0);
  SmallGpt placed(all,
                  spaces::placed({spaces::one_d(all.at("pp", 0)), spaces::one_d(all.at("pp", 1))},
                                 {{"transformer.h.1", 1}}),
                  3, 0);
  const auto found = rows_of(config, placed);
  config.layout = {.dp = 4};
  expect_near(found, rows_of(config, one));
}

TEST(Loop, NoClippingIsAnInfiniteNorm) {
  Config config = SmallGpt::one_digit();
  config.optimizer.clip = 1e-3;
  const Trained clipped = run(1, Runtime::size(), config);
  config.optimizer.clip = 0;
  const Trained free = run(1, Runtime::size(), config);
  config.optimizer.clip = 1e6;

  EXPECT_EQ(run(1, Runtime::size(), config).rows.back().loss, free.rows.back().loss);
  EXPECT_EQ(clipped.rows.front().gradient_norm, free.rows.front().gradient_norm);
}

TEST(Loop, EndsOnAllWorkersWhereOneAsksFor) {
  const Config config = SmallGpt::one_digit();
  const Trained whole = run(1, Runtime::size(), config);
  for (const bool tensor : {false, true}) {
    int asked = 0;
    const Trained stopped = run(
        tensor ? 1 : Runtime::size(), tensor ? Runtime::size() : 1, config, [](const Row&) {},
        [&] { return ++asked == 3 && Runtime::rank() == Runtime::size() - 1; });

    ASSERT_EQ(stopped.rows.size(), 3u);
    EXPECT_NEAR(stopped.rows.back().loss, whole.rows[2].loss, 1e-12);
    EXPECT_TRUE(stopped.rows.back().held_out_loss.has_value());
    EXPECT_EQ(stopped.traffic, tensor ? whole.traffic : stopped.traffic);
  }
}

TEST(Loop, CountsWhatLeftInOneStep) {
  Config config = SmallGpt::one_digit();
  const auto traffic = run(1, Runtime::size(), config).traffic;
  config.train.steps = 3;
  config.train.eval_every = 1;

  EXPECT_EQ(run(1, Runtime::size(), config).traffic, traffic);
  EXPECT_EQ(traffic.empty(), Runtime::size() == 1);
}

TEST(Loop, NamesTheStepWhoseLossIsNotFinite) {
  Config config = SmallGpt::one_digit();
  config.optimizer.learning_rate = 1e300;
  config.optimizer.clip = 0;

  EXPECT_ERROR(run(1, Runtime::size(), config), "the loss of step",
               " is not a number; lower optimizer.learning_rate");
}

TEST(TrainingStep, OfIgnoredTargetsAloneHasNoGradient) {
  const Config config = SmallGpt::one_digit();
  SmallGpt small(Runtime::size(), 1);
  const Learner model = small.model();
  TrainingStep step(config, model);
  auto batch = AdderTask(config).batch(0, 5);
  batch.targets.whole().fill_(-1);

  const TrainingStep::Result result = step(0, batch);

  EXPECT_EQ(result.loss, 0);
  EXPECT_EQ(result.gradient_norm, 0);
}

/// One worker's gradient is infinite; the loss is not.
TEST(TrainingStep, TakesNoGradientThatIsNotFinite) {
  for (const std::int64_t stage : {0, 2}) {
    for (const char* precision : {"fp32", "fp16"}) {
      SCOPED_TRACE(precision);
      Config config = SmallGpt::one_digit();
      config.layout.zero = stage;
      config.precision = precision;
      SmallGpt small(Runtime::size(), 1);
      const Learner model = small.model();
      TrainingStep step(config, model);
      const Parameter table = small.gpt.parameters().front();
      const bool last = Runtime::rank() == Runtime::size() - 1;
      table.leaf().register_hook(
          [last](const at::Tensor& g) { return last ? g.mul(std::numeric_limits<double>::infinity()) : g; });
      const at::Tensor before = table.leaf().detach().clone();
      const auto batch = AdderTask(config).batch(0, 5);
      if (precision == std::string("fp16")) {
        EXPECT_TRUE(step(0, batch).skipped);
      } else {
        EXPECT_ERROR(step(0, batch), "the gradient of transformer.wte.weight in step 1 has",
                     "NaN or infinite", "lower optimizer.learning_rate");
      }
      EXPECT_TRUE(at::equal(table.leaf().detach(), before));
    }
  }
}

/// A training that learns nothing says so, while it goes on and at its end.
TEST(Session, SaysThatItsStepsAreSkipped) {
  const testing::SharedFolder folder;
  Config config = SmallGpt::one_digit();
  config.precision = "fp16";
  config.train.steps = 11;
  config.output.folder = (folder.path() / "run").string();
  config.checkpoint.save = false;
  SmallGpt small(Runtime::size(), 1);
  const auto spoil = [&](const Row& row) {
    if (row.step > 1) return;
    small.gpt.parameters().front().leaf().register_hook(
        [](const at::Tensor& g) { return g.mul(std::numeric_limits<double>::infinity()); });
  };
  ::testing::internal::CaptureStderr();
  run_session(config, small.model(), AdderTask(config), spoil);
  const std::string text = ::testing::internal::GetCapturedStderr();
  if (Runtime::rank() != 0) return;
  EXPECT_THAT(text, ::testing::HasSubstr("all of the last 10 steps, 2 to 11, were skipped, for a gradient"));
  EXPECT_THAT(text, ::testing::HasSubstr("10 of 11 steps were skipped, for a gradient"));
}

}  // namespace
}  // namespace riesz
