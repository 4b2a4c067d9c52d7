// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A step of any layout is verified in one process: nothing is wrong with the real program, classes of workers
// are what all workers are, and faults in recordings are found.
#include "riesz/app/jobs/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/app/jobs/explain.h"
#include "riesz/app/verify/class_runs.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

Config llama(int dp, int tp, int pp) {
  Config config;
  config.layout.dp = dp;
  config.layout.tp = tp;
  config.layout.pp = pp;
  config.model.kind = "llama";
  config.model.layers = 2 * pp;
  config.model.heads = tp;
  config.model.width = 8 * tp;
  config.train.batch = 2 * dp * pp;
  return config;
}

TEST(Verify, FindsNothingWrongAtAnyKindOfLayout) {
  std::vector<Config> all;
  for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
    all.push_back(llama(1, 8, 1));
    all.back().layout.tensor = tensor;
  }
  for (const char* sequence : {"ring", "ulysses"}) {
    all.push_back(llama(2, 2, 1));
    all.back().layout.sp = 2;
    all.back().layout.sequence = sequence;
  }
  for (const char* schedule : {"one_f_one_b", "gpipe", "zb_v", "interleaved"}) {
    for (const int zero : {1, 3}) {
      all.push_back(llama(2, 2, 2));
      all.back().layout.zero = zero;
      all.back().pipeline.schedule = schedule;
    }
  }
  for (const char* schedule : {"one_f_one_b", "zb_v"}) {
    all.push_back(llama(2, 2, 2));
    all.back().model.kind = "mixtral";
    all.back().model.experts = 3;
    all.back().pipeline.schedule = schedule;
  }
  for (const char* like : {"dp", "tp"}) {
    all.push_back(llama(2, 2, 1));
    all.back().model.kind = "mixtral";
    all.back().model.experts = 3;
    all.back().layout.ep = 2;
    all.back().layout.experts = like;
    all.back().train.batch = 3;  // so that workers have different numbers of tokens
    all.back().layout.zero = 3;
  }
  all.push_back(llama(1, 4, 1));  // two workers along ep have 2 rows and 1, so other capacities are left
  all.back().model.kind = "gpt2_moe";
  all.back().model.experts = 3;
  all.back().model.capacity_factor = 1.25;
  all.back().layout.ep = 2;
  all.back().train.batch = 3;
  for (const Config& config : all) {
    const app::Verified verified = app::verify(config, {});
    EXPECT_TRUE(verified.right()) << verified.mesh << " " << config.pipeline.schedule << "\n"
                                  << verified.fault;
    EXPECT_EQ(verified.run, 8);
    EXPECT_GT(verified.messages, 0);
  }
}

/// What crosses stages has a gradient if what lies before the frozen level has one, said on all workers
/// alike.
TEST(Verify, FindsNothingWrongWithAFrozenLevelBeforeAStage) {
  Config config;
  config.model.kind = "unet", config.model.image = 16, config.model.levels = 3, config.model.width = 2;
  config.data.task = "cells", config.train.frozen = "down.1";
  config.layout.pp = 2, config.layout.space = {2, 1};
  config.train.batch = 4, config.train.micro_batches = 2;
  const app::Verified verified = app::verify(config, {});
  EXPECT_TRUE(verified.right()) << verified.fault;
  EXPECT_EQ(verified.run, 4);
}

TEST(Verify, OneOfAClassSendsWhatAllOfItSend) {
  Config config = llama(10, 4, 2);
  config.layout.zero = 1;
  config.model.width = 40;  // pieces of ten are uneven

  const app::ClassRuns runs(config);

  EXPECT_LT(runs.recordings().size(), 40U);
  for (int rank = 0; rank < 80; ++rank)
    ASSERT_EQ(runs.operators_of(rank), app::explain(config, rank).operators) << rank;
}

TEST(Verify, ComparesWorkersOfMoreThanSixtyFour) {
  const app::Verified verified = app::verify(llama(16, 4, 2), {});

  EXPECT_TRUE(verified.right()) << verified.fault;
  EXPECT_EQ(verified.workers, 128);
  EXPECT_LT(verified.classes, 40);
  EXPECT_GT(verified.compared, 0);
  EXPECT_EQ(verified.run, verified.classes + verified.compared);
}

/// What is taken from one worker's recording: a message that it sends, a wait before others, …
std::vector<Recording> recordings_of(const Config& config) { return app::ClassRuns(config).recordings(); }

TEST(Verify, FindsWhatIsTakenFromOneWorkersStep) {
  const Config config = llama(2, 2, 1);
  std::vector<Recording> all = recordings_of(config);
  ASSERT_TRUE(match(all, each_its_own()).faults.empty());
  Recording& one = all[1];
  const std::size_t middle = one.rounds.size() / 2;
  one.messages[one.rounds[middle].first].elements += 1;

  const Matching sizes = match(all, each_its_own());

  ASSERT_FALSE(sizes.faults.empty());
  EXPECT_THAT(sizes.faults.front().what,
              ::testing::HasSubstr("rank 1 sends a message of another size than rank"));
  EXPECT_THAT(to_string(sizes.faults.front()), ::testing::HasSubstr(" in layer "));
}

TEST(Verify, TakesItsDataParallelismFromTheWorkers) {
  Config config = llama(1, 4, 2);
  EXPECT_EQ(app::on_workers(config, 64).layout.dp, 8);
  EXPECT_ERROR(app::on_workers(config, 12), "verify: 12 workers, but");
  config.origins["layout.dp"] = kCommandLine;
  EXPECT_ERROR(app::on_workers(config, 64), "verify: 64 workers, but");
}

}  // namespace
}  // namespace riesz::testing
