// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "riesz/comm/runtime.h"
#include "riesz/nn/freeze.h"
#include "riesz/train/data/adder_task.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using ::testing::ContainsRegex;
using testing::SmallGpt;

TEST(TrafficTable, HasTheLeastAndTheGreatestOfTheRanks) {
  const std::string table = traffic_table(
      {{{"AllReduce", {1000, 4000, 2}}, {"Copy", {5, 20, 1}}}, {{"AllReduce", {3000, 12000, 2}}}});

  EXPECT_THAT(table, ContainsRegex("AllReduce +1,000 - 3,000 elements +2 messages"));
  EXPECT_THAT(table, ContainsRegex("Copy +0 - 5 elements +0 - 1 messages"));
  EXPECT_THAT(table, ContainsRegex("in all +1,005 - 3,000 elements +2 - 3 messages"));
}

TEST(CollectTraffic, BringsEveryRanksToAll) {
  TrafficByOperation mine = {{"AllReduce", {Runtime::rank() + 1, 8, 2}}};
  if (Runtime::rank() == 1) mine["OnlyHere"] = {1, 1, 1};

  const std::vector<TrafficByOperation> all = collect_traffic(Partition::world(), mine);

  ASSERT_EQ(static_cast<int>(all.size()), Runtime::size());
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)].at("AllReduce"), (Traffic{rank + 1, 8, 2}));
    EXPECT_EQ(all[static_cast<std::size_t>(rank)].count("OnlyHere"), rank == 1 ? 1u : 0u);
  }
}

/// What is not trained is frozen by the configuration, or a statistic that layers keep.
TEST(Summary, TellsFrozenParametersFromStatistics) {
  SmallGpt small(Runtime::size(), 1);
  freeze(small.gpt, {"transformer.wte", "lm_head"}, "the test");
  Config config = SmallGpt::one_digit();
  config.train.frozen = "transformer.w?e";
  Trained trained;
  trained.rows.push_back({1, 0.5, 0.25, 0, 0, 0, 125});
  const std::string text = summary(config, small.model(), AdderTask(config), trained, {{}}, {RankMemory{}});
  EXPECT_THAT(text, ContainsRegex("parameters +1,0[0-9][0-9], of which 80 frozen and 80 statistics\n"));
}

TEST(Summary, NamesModelLayoutSpeedAndTraffic) {
  SmallGpt small(Runtime::size(), 1);
  const Config config = SmallGpt::one_digit();
  Trained trained;
  for (std::int64_t step = 1; step <= 100; ++step) trained.rows.push_back({step, 0.5, 0.25, 0, 0, 0, 125});
  trained.seconds = 60;

  const std::string text =
      summary(config, small.model(), AdderTask(config), trained, {{{"AllReduce", {77, 1, 3}}}},
              {RankMemory{{{1 << 20, 2 << 20, 0, 4, 0}, 3 << 20}, 5 << 20}});

  EXPECT_THAT(text, ContainsRegex("parameters +1,0[0-9][0-9]\n"));
  EXPECT_THAT(text, ContainsRegex("layout +\\(dp=" + std::to_string(Runtime::size()) + ", tp=1\\): "));
  EXPECT_THAT(text, ContainsRegex(
                        "100 steps of 5 sequences of 3 tokens in 1 min 00 s, with measurements 2 min 05 s"));
  EXPECT_THAT(text, ContainsRegex("speed +25 tokens/s"));
  EXPECT_THAT(text, ContainsRegex("loss +0.5 in the last step, 0.25 held out"));
  const bool alone = Runtime::size() == 1;
  EXPECT_THAT(
      text, ContainsRegex(alone ? "at its most +5.00 MiB\n$" : "sends in a step\n +AllReduce +77 elements"));
  EXPECT_THAT(text, ContainsRegex("each rank held\n +parameters +1.00 MiB\n +gradients +2.00 MiB\n"
                                  " +optimizer +3.00 MiB\n +passing through +0.00 MiB\n"
                                  " +in all +6.00 MiB\n"));
}

}  // namespace
}  // namespace riesz
