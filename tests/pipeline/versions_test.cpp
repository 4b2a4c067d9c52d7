// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous tables: which weights each pass reads, how many versions of them there are.
#include <gtest/gtest.h>

#include <algorithm>

#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/pipeline/schedule/verify.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

std::vector<Action> of_pass(const Schedule& table, int worker, Pass pass) {
  std::vector<Action> found;
  for (const Action& action : table.rows[worker]) {
    if (action.pass == pass) found.push_back(action);
  }
  return found;
}

TEST(PipeDream, ReadsTheNewestWeightsForwardAndTheSameBackward) {
  const int p = 4, m = 9;
  const Schedule table = schedules::pipedream({.stages = p, .micro_batches = m});
  const UnderWay most = verify(table);

  for (int r = 0; r < p; ++r) {
    const auto forward = of_pass(table, r, Pass::forward), backward = of_pass(table, r, Pass::backward);
    for (int i = 0; i < m; ++i) {
      EXPECT_EQ(forward[i].version, std::max(0, i - (p - r) + 1));
      EXPECT_EQ(backward[i].version, forward[i].version);
      EXPECT_TRUE(backward[i].update);
    }
    EXPECT_EQ(most.versions[r], p - r);
  }
}

TEST(TwoBw, HasTwoVersionsAndADelayOfOne) {
  for (const int interval : {4, 5}) {
    const int p = 4, m = 4 * interval;
    const Schedule table = schedules::two_bw({.stages = p, .micro_batches = m, .update_interval = interval});
    const UnderWay most = verify(table);

    EXPECT_EQ(most.versions, (std::vector<int>{2, 2, 2, 2}));
    for (int r = 0; r < p; ++r) {
      EXPECT_EQ(most.activations[r], p - r);
      for (const Action& a : of_pass(table, r, Pass::backward)) {
        EXPECT_EQ(a.version, std::max(0, a.micro_batch / interval - 1));
        EXPECT_EQ(a.update, a.micro_batch % interval == interval - 1);
      }
    }
  }
  EXPECT_ERROR(schedules::two_bw({.stages = 4, .micro_batches = 6, .update_interval = 3}),
               "from 4 micro-batches on");
  EXPECT_ERROR(schedules::two_bw({.stages = 2, .micro_batches = 7}), "take a multiple, such as 8");
}

TEST(AmpNet, UpdatesAfterItsIntervalAndKeepsOneVersion) {
  const int p = 3, m = 10;
  const Schedule table =
      schedules::ampnet({.stages = p, .micro_batches = m, .update_interval = 4, .in_flight = 5});
  const UnderWay most = verify(table);

  EXPECT_EQ(most.versions, std::vector<int>(p, 1));
  EXPECT_EQ(most.activations[0], 5);
  for (int r = 0; r < p; ++r) {
    int updates = 0;
    for (const Action& a : table.rows[r]) {
      EXPECT_TRUE(a.pass == Pass::idle || a.version == updates);
      updates += a.update;
    }
    EXPECT_EQ(updates, 3);  // after 4, 8 and, at the end, 10
  }
}

TEST(AmpNet, OrderFollowsTheCosts) {
  // A slow last worker: the others go forward as far as they may.
  const Costs slow{.chunks = {{}, {}, {5, 5, 5}}};
  const ScheduleOptions options{.stages = 3, .micro_batches = 8, .in_flight = 6};
  ScheduleOptions with_costs = options;
  with_costs.costs = slow;

  EXPECT_LT(span(simulate(schedules::ampnet(with_costs), slow)),
            span(simulate(schedules::one_f_one_b({.stages = 3, .micro_batches = 8}), slow)) + 1e-9);
  EXPECT_NE(schedules::ampnet(with_costs).rows, schedules::ampnet(options).rows);
}

TEST(Verify, WatchesVersionsOfWeights) {
  Schedule table = schedules::pipedream({.stages = 1, .micro_batches = 2});  // F0 B0+ F1@1 B1@1+
  table.rows[0][2].version = 2;
  EXPECT_ERROR(verify(table),
               "0F1@2 (worker 0, slot 2): it reads version 2 of chunk 0's weights, of which 1 is");
  table.rows[0][2].version = 1;
  table.rows[0][3].version = 0;
  EXPECT_ERROR(verify(table), "0B1+ (worker 0, slot 3): its forward pass read version 1");
  table.rows[0][3].version = 1;
  table.rows[0][2].update = true;
  EXPECT_ERROR(verify(table), "0F1@1+ (worker 0, slot 2): an update comes after a backward pass of weights");
}

}  // namespace
}  // namespace riesz::testing
