// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The formulas of the papers: idle time, what is kept, messages. F, B_i, W are uneven on purpose.
#include "riesz/pipeline/schedule/makers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/pipeline/schedule/verify.h"

namespace riesz::testing {
namespace {

constexpr double kF = 3, kI = 4, kW = 2, kB = kI + kW;
const Costs kCosts{
    .chunks = {{.forward = kF, .backward_inputs = kI, .backward_weights = kW, .recompute = kF}}};

struct Size {
  int p, m;
};
/// Fewer micro-batches than stages, and more; a single stage.
const std::vector<Size> kSizes = {{1, 1}, {1, 4}, {2, 4}, {3, 2}, {3, 7}, {4, 8}, {5, 3}, {8, 19}};
const std::vector<Size> kFilled = {{1, 1}, {1, 4}, {2, 4}, {3, 7}, {4, 8}, {4, 7}, {8, 19}};  // m >= 2p − 1

double longest(const Timeline& timeline) {
  const std::vector<double> lost = waiting(timeline);
  return *std::max_element(lost.begin(), lost.end());
}

TEST(GPipe, HasItsFormulas) {
  for (const auto& [p, m] : kSizes) {
    const Schedule table = schedules::gpipe({.stages = p, .micro_batches = m});
    const Timeline timeline = simulate(table, kCosts);

    EXPECT_EQ(span(timeline), (m + p - 1) * (kF + kB));
    EXPECT_DOUBLE_EQ(bubble(timeline), (p - 1.0) / (m + p - 1));
    EXPECT_EQ(verify(table).activations, std::vector<int>(p, m));
    EXPECT_EQ(messages(table), 2 * m * (p - 1));
  }
}

TEST(GPipe, RecomputesAllButTheLast) {
  const Schedule table = schedules::gpipe({.stages = 3, .micro_batches = 5, .recompute = true});
  const UnderWay most = verify(table);

  EXPECT_EQ(most.inputs, std::vector<int>(3, 4));
  EXPECT_EQ(most.activations, std::vector<int>(3, 1));
  // As long as if all were recomputed, but for the last one's at each end of the pipeline.
  EXPECT_EQ(span(simulate(table)), 5 * (1 + 2 + 1) - 1 + 2 * (1 + 2));
}

TEST(OneFOneB, HasItsFormulas) {
  for (const auto& [p, m] : kSizes) {
    const Schedule table = schedules::one_f_one_b({.stages = p, .micro_batches = m});
    const Timeline timeline = simulate(table, kCosts);

    EXPECT_EQ(span(timeline), (m + p - 1) * (kF + kB));
    EXPECT_DOUBLE_EQ(bubble(timeline), (p - 1.0) / (m + p - 1));
    EXPECT_EQ(messages(table), 2 * m * (p - 1));
    const UnderWay most = verify(table);
    for (int r = 0; r < p; ++r) EXPECT_EQ(most.activations[r], std::min(m, p - r));
  }
}

TEST(Interleaved, HasItsFormulas) {
  for (const auto& [p, m] : std::vector<Size>{{1, 3}, {2, 4}, {3, 6}, {4, 8}, {4, 16}}) {
    for (const int v : {1, 2, 3}) {
      const Schedule table = schedules::interleaved({.stages = p, .micro_batches = m, .chunks = v});
      const Timeline timeline = simulate(table, kCosts);

      EXPECT_EQ(span(timeline), (v * m + p - 1) * (kF + kB));
      EXPECT_DOUBLE_EQ(bubble(timeline), (p - 1.0) / (v * m + p - 1));
      EXPECT_EQ(messages(table), p == 1 ? 0 : 2 * m * (p * v - 1));
      const UnderWay most = verify(table);
      for (int r = 0; r < p; ++r)
        EXPECT_EQ(most.activations[r], std::min(m * v, 2 * (p - r - 1) + (v - 1) * p + 1))
            << p << m << v << r;
    }
  }
}

TEST(Varuna, HasThePublishedTotalsWithFourUnitTasks) {
  struct Case {
    int p, m;
    std::size_t total, gpipe;
  };
  for (const auto& [p, m, total, gpipe] :
       std::vector<Case>{{4, 8, 39, 44}, {4, 16, 72, 76}, {8, 16, 84, 92}, {8, 32, 147, 156}}) {
    const Schedule table = schedules::varuna({.stages = p, .micro_batches = m});

    std::size_t slots = 0;
    for (const auto& row : table.rows) slots = std::max(slots, row.size());
    EXPECT_EQ(slots, total);
    EXPECT_LT(total, gpipe);
    EXPECT_EQ(span(simulate(table)), static_cast<double>(total) - (p - 1));
    const UnderWay most = verify(table);
    for (int r = 0; r + 1 < p; ++r) EXPECT_EQ(most.inputs[r], std::min(m, 3 * (p - 1 - r)));
    EXPECT_EQ(most.inputs.back(), 0);
    EXPECT_EQ(most.activations, std::vector<int>(p, 1));
  }
}

TEST(Varuna, PullsForwardPassesAheadWhileAGradientIsUnderWay) {
  const auto forward_before_first_recompute = [](double send) {
    const Schedule table =
        schedules::varuna({.stages = 3, .micro_batches = 12, .costs = {.chunks = {{}}, .send = send}});
    int count = 0;
    for (const Action& action : table.rows[1]) {
      if (action.pass == Pass::recompute) break;
      count += action.pass == Pass::forward;
    }
    return count;
  };

  EXPECT_EQ(forward_before_first_recompute(0), 3);
  EXPECT_EQ(forward_before_first_recompute(2), 7);
}

TEST(ZeroBubble, H1HasItsFormulas) {
  for (const auto& [p, m] : std::vector<Size>{{1, 1}, {2, 4}, {3, 3}, {4, 6}, {4, 8}, {8, 19}}) {
    const Schedule table = schedules::zb_h1({.stages = p, .micro_batches = m});

    EXPECT_EQ(span(simulate(table, kCosts)), m * (kF + kB) + (p - 1) * (kF + kI - kW)) << p << " " << m;
    EXPECT_EQ(verify(table).activations, std::vector<int>(p, p));
    EXPECT_EQ(messages(table), 2 * m * (p - 1));
  }
}

TEST(ZeroBubble, H2HasItsFormulas) {
  for (const auto& [p, m] : kFilled) {
    const Schedule table = schedules::zb_h2({.stages = p, .micro_batches = m});

    EXPECT_EQ(longest(simulate(table, kCosts)), (p - 1) * (kF + kI - 2 * kW)) << p << " " << m;
    EXPECT_EQ(longest(simulate(table)), 0);
    EXPECT_EQ(verify(table).activations, std::vector<int>(p, 2 * p - 1));
  }
}

TEST(ZeroBubble, VWaitsNowhereWithUnitPasses) {
  for (const auto& [p, m] : kFilled) {
    const Schedule table = schedules::zb_v({.stages = p, .micro_batches = m});

    EXPECT_EQ(waiting(simulate(table)), std::vector<double>(p, 0)) << p << " " << m;
    EXPECT_EQ(verify(table).activations, std::vector<int>(p, 2 * p)) << p << " " << m;
    EXPECT_EQ(messages(table), 2 * m * (2 * p - 2));
  }
}

TEST(VShaped, HalfAndMinKeepLessAndWaitLessThanOneFOneB) {
  for (const auto& [p, m] : std::vector<Size>{{2, 4}, {3, 9}, {4, 8}, {5, 10}, {6, 12}, {8, 16}, {8, 32}}) {
    const double idle_of_1f1b = 2 * 3 * (p - 1);  // in units of a chunk's passes
    const ScheduleOptions options{.stages = p, .micro_batches = m};
    const Schedule half = schedules::v_half(options);
    const Schedule least = schedules::v_min(options);

    EXPECT_LE(span(simulate(half)) - 6 * m, idle_of_1f1b / 2) << p << " " << m;
    EXPECT_LE(span(simulate(least)) - 6 * m, idle_of_1f1b * 2 / 3) << p << " " << m;
    for (const int kept : verify(half).activations) EXPECT_LE(kept, p + 2);
    for (const int kept : verify(least).activations) EXPECT_LE(kept, 2 * ((p + 2) / 3) + 2);
  }
}

TEST(Makers, ServeAnyNumbersAndCosts) {
  const std::vector<Costs> costs = {
      {}, kCosts, {.chunks = {{1, 3, 0, 0}}, .send = 2.5}, {.chunks = {{0, 1, 5, 7}}, .send = 0.3}};
  for (const NamedSchedule& schedule : named_schedules()) {
    if (schedule.name == "interleaved" || schedule.name == "two_bw") continue;  // which serve some numbers
    for (const int p : {1, 2, 3, 4, 5, 7}) {
      for (const int m : {1, 2, 3, 6, 11}) {
        for (const Costs& cost : costs)
          EXPECT_NO_THROW(verify(schedule.make({.stages = p, .micro_batches = m, .costs = cost})))
              << schedule.name;
      }
    }
  }
}

TEST(Interleaved, ServesUnevenGroups) {
  for (const auto& [p, m, group] :
       std::vector<std::array<int, 3>>{{2, 5, 3}, {3, 7, 4}, {4, 11, 6}, {4, 8, 8}, {2, 9, 5}}) {
    const Schedule table =
        schedules::interleaved({.stages = p, .micro_batches = m, .chunks = 3, .group = group});
    EXPECT_EQ(verify(table).activations[0], std::min(3 * m, 2 * (p - 1) + 2 * group + 1));
  }
}

TEST(ForwardOnly, KeepsTheOrderAndPlacesOfATable) {
  const Schedule table = forward_only(schedules::zb_v({.stages = 3, .micro_batches = 4}));

  EXPECT_EQ(table.worker_of, v_shaped(3));
  EXPECT_EQ(verify(table).activations, std::vector<int>(3, 0));
  EXPECT_EQ(messages(table), 4 * (2 * 3 - 2));
}

}  // namespace
}  // namespace riesz::testing
