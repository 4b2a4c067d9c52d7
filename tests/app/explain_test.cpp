// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The plan of a step is what the workers of a real job count in it, record by record.
#include "riesz/app/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "riesz/app/model.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/train/load_config.h"
#include "riesz/train/step.h"

namespace riesz::testing {
namespace {

/// Uneven everywhere; more workers than heads, or than sequences, at some layouts.
Config adder(int dp, int tp) {
  Config config;
  config.layout.dp = dp;
  config.layout.tp = tp;
  config.model.layers = 2;
  config.model.width = 15;
  config.model.dropout = 0.1;
  config.train.batch = 3;
  return config;
}

using Lines = std::map<std::string, Traffic>;

Lines lines_of(const std::vector<Record>& records) {
  Lines lines;
  for (const Record& r : records)
    lines[r.origin.layer + "|" + to_string(r.origin.phase) + "|" + r.operation] = r.traffic;
  return lines;
}

struct Counted {
  Lines lines;
  TrafficByOperation operators;
};

/// Of this worker in a step of the job.
Counted count_step(const Config& config) {
  const auto task = make_task(config);
  const auto model = app::make_model(config, *task);
  const LanguageModel whole = app::language_model(*model);
  TrainingStep step(config.train, whole);
  Counters& counters = Counters::instance();
  counters.reset();
  counters.record(true);
  step(0, task->batch(0, config.train.batch));
  const Counted counted{lines_of(counters.records()), counters.by_operation()};
  counters.record(false);
  return counted;
}

/// All that this many workers allow, with one or two of them sharing the batch.
std::vector<Config> layouts_of(int workers) {
  std::vector<Config> all;
  for (int dp = 1; dp <= std::min(workers, 2); ++dp) {
    for (int sp = 1; dp * sp <= workers; ++sp) {
      if (workers % (dp * sp) != 0) continue;
      for (const char* sequence : {"none", "ring", "ulysses"}) {
        for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
          Config config = adder(dp, workers / (dp * sp));
          config.model.layers = 1;
          config.layout.sp = sp;
          config.layout.sequence = sequence;
          config.layout.tensor = tensor;
          try {
            check_config(config, workers);
            all.push_back(config);
          } catch (const Error&) {
            // not with so many
          }
        }
      }
    }
  }
  return all;
}

TEST(Explain, IsWhatEveryWorkerCountsAtEveryLayout) {
  const int size = Runtime::size();
  std::set<std::string> kinds;
  for (const Config& config : layouts_of(size)) {
    const std::string kind = config.layout.tensor + ", " + config.layout.sequence;
    const Counted counted = count_step(config);

    const app::StepPlan plan = app::explain(config, Runtime::rank());

    EXPECT_EQ(lines_of(plan.records), counted.lines) << plan.mesh << " " << kind;
    EXPECT_EQ(plan.operators, counted.operators) << plan.mesh << " " << kind;
    EXPECT_EQ(plan.records.empty(), size == 1) << plan.mesh << " " << kind;
    kinds.insert(kind);
  }
  EXPECT_THAT(kinds, ::testing::IsSupersetOf({"1d, none", "sp, none", "1d, ring", "1d, ulysses"}));
}

TEST(Explain, NeedsNoneOfTheLayoutsWorkers) {
  Config config = adder(4, 2);
  config.model.width = 12;
  config.train.batch = 8;

  const app::StepPlan plan = app::explain(config, 5);

  Lines lines = lines_of(plan.records);
  // 2 sequences of 6 tokens, 12 wide, over 2 workers.
  EXPECT_EQ(lines["transformer.h.1.mlp.c_proj|forward|AllReduce over tp: Partial -> Replicated"],
            (Traffic{2 * 6 * 12, 4 * 2 * 6 * 12, 2}));
  // Half of 12 x 48 weights and of 48 biases over 4 workers: 2·3/4 of each.
  EXPECT_EQ(lines["transformer.h.1.mlp.c_fc|backward|AllReduce over dp: Partial -> Replicated"],
            (Traffic{6 * (72 + 6), 4 * 6 * (72 + 6), 12}));
  EXPECT_EQ(lines["gradients|update|clip_gradients"], (Traffic{7, 56, 7}));
  EXPECT_EQ(plan.mesh, "(dp=4, tp=2)");
}

TEST(Explain, PrintsLinesAndSums) {
  const std::string text = to_string(app::explain(adder(2, 2), 3));

  EXPECT_THAT(text, ::testing::StartsWith("minGPT: 2 layers, 3 heads, width 15, vocabulary 10, context 6\n"
                                          "in one step, rank 3 of (dp=2, tp=2) sends\n"));
  for (const char* phase : {"forward", "backward", "update"}) {
    EXPECT_THAT(text, ::testing::ContainsRegex(std::string("\n  in all +") + phase +
                                               " +[0-9,]+ elements +[0-9]+ messages\n"));
  }
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "\n  transformer.wte +forward +AllReduce over tp: Partial -> Replicated +"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  loss +forward +AllMax over tp +"));
}

TEST(Explain, SaysWhichRanksThereAre) {
  EXPECT_ERROR(app::explain(adder(2, 2), 4), "there is no rank 4 among 4 workers", "2 x 1 x 2");
  EXPECT_ERROR(app::explain(adder(2, 2), -1), "there is no rank -1 among 4 workers");
}

}  // namespace
}  // namespace riesz::testing
