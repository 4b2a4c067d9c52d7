// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/simulate.h"

#include <gtest/gtest.h>

#include "riesz/pipeline/schedule/makers.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TEST(Simulate, SaysWhenEachActionStartsAndEnds) {
  const Schedule table = schedules::gpipe({.stages = 2, .micro_batches = 2});

  const Timeline timeline = simulate(table, {.chunks = {{1, 1, 1}, {3, 2, 4}}, .send = 0.5});

  const auto times = [](const std::vector<Timed>& row) {
    std::vector<std::pair<double, double>> all;
    for (const Timed& timed : row) all.emplace_back(timed.start, timed.end);
    return all;
  };
  using Times = std::vector<std::pair<double, double>>;
  EXPECT_EQ(times(timeline.rows[0]), (Times{{0, 1}, {1, 2}, {14, 16}, {20, 22}}));
  EXPECT_EQ(times(timeline.rows[1]), (Times{{1.5, 4.5}, {4.5, 7.5}, {7.5, 13.5}, {13.5, 19.5}}));
  EXPECT_EQ(span(timeline), 22);
  EXPECT_DOUBLE_EQ(bubble(timeline), 1 - (6 + 18) / 44.0);
  EXPECT_EQ(waiting(timeline), (std::vector<double>{16, 0}));
}

TEST(Simulate, AMessageThatStaysOnItsWorkerTakesNoTime) {
  const Schedule table = schedules::zb_v({.stages = 1, .micro_batches = 1});

  EXPECT_EQ(span(simulate(table, {.chunks = {{}}, .send = 100})), 6);
}

TEST(Simulate, WantsCostsOfOneOrOfAllChunks) {
  const Schedule table = schedules::gpipe({.stages = 3, .micro_batches = 1});

  EXPECT_ERROR(simulate(table, {.chunks = {{}, {}}}), "costs of 2 chunks for a table of 3",
               "give one for all or one for each");
  EXPECT_ERROR(simulate(table, {.chunks = {{.recompute = -1}}}), "a cost of -1; none may be below 0");
}

}  // namespace
}  // namespace riesz::testing
