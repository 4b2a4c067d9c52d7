// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "riesz/optim/one_cycle.h"
#include "riesz/optim/rate_range_test.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kPeak = 0.4, kFloor = 0.04;

double rate(std::int64_t step) { return warm_up_cosine(step, 4, 25, kPeak, kFloor); }

TEST(WarmUpCosine, RisesLinearly) {
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(1), 0.2);
  EXPECT_DOUBLE_EQ(rate(3), kPeak);
}

TEST(WarmUpCosine, FallsByHalfACosine) {
  EXPECT_DOUBLE_EQ(rate(4), kPeak);
  EXPECT_DOUBLE_EQ(rate(9), kFloor + (kPeak - kFloor) * (1 + std::sqrt(0.5)) / 2);  // a quarter of 20 steps
  EXPECT_DOUBLE_EQ(rate(14), (kPeak + kFloor) / 2);
  EXPECT_DOUBLE_EQ(rate(19), kFloor + (kPeak - kFloor) * (1 - std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(rate(24), kFloor);
}

TEST(WarmUpCosine, StaysAtTheFloor) {
  EXPECT_DOUBLE_EQ(rate(25), kFloor);
  EXPECT_DOUBLE_EQ(rate(1000), kFloor);
}

TEST(WarmUpCosine, NeedsNoWarmUp) {
  EXPECT_DOUBLE_EQ(warm_up_cosine(0, 0, 10, kPeak, kFloor), kPeak);
  EXPECT_DOUBLE_EQ(warm_up_cosine(9, 0, 10, kPeak, kFloor), kFloor);
  EXPECT_DOUBLE_EQ(warm_up_cosine(0, 0, 1, kPeak, kFloor), kPeak);
}

TEST(WarmUpCosine, SaysWhatDoesNotFit) {
  EXPECT_ERROR(warm_up_cosine(0, 10, 10, kPeak, kFloor), "step 0 of 10 with 10 of warm-up");
  EXPECT_ERROR(warm_up_cosine(-1, 0, 10, kPeak, kFloor), "step -1");
  EXPECT_ERROR(warm_up_cosine(0, -1, 10, kPeak, kFloor), "with -1 of warm-up");
}

TEST(WarmUpLinear, FallsInALine) {
  const auto rate = [](std::int64_t step) { return warm_up_linear(step, 4, 25, kPeak, kFloor); };
  EXPECT_DOUBLE_EQ(rate(1), 0.2);
  EXPECT_DOUBLE_EQ(rate(4), kPeak);
  EXPECT_DOUBLE_EQ(rate(9), kPeak - 0.25 * (kPeak - kFloor));
  EXPECT_DOUBLE_EQ(rate(24), kFloor);
  EXPECT_DOUBLE_EQ(rate(100), kFloor);
  EXPECT_ERROR(warm_up_linear(0, 10, 10, kPeak, kFloor), "warm_up_linear: step 0 of 10");
}

TEST(WarmUpConstant, StaysAtThePeak) {
  EXPECT_DOUBLE_EQ(warm_up_constant(0, 4, kPeak), 0.1);
  EXPECT_DOUBLE_EQ(warm_up_constant(3, 4, kPeak), kPeak);
  EXPECT_DOUBLE_EQ(warm_up_constant(4, 4, kPeak), kPeak);
  EXPECT_DOUBLE_EQ(warm_up_constant(0, 0, kPeak), kPeak);
  EXPECT_ERROR(warm_up_constant(-1, 0, kPeak), "step -1");
}

TEST(OneCycle, GoesUpAndDownAndDecays) {
  const OneCycle c{.least_rate = 0.1,
                   .greatest_rate = 0.9,
                   .first_steps = 4,
                   .second_steps = 8,
                   .rate_decay = 2,
                   .decay_steps = 5,
                   .momentum_decay = 0.01};
  const std::vector<double> rates{0.1, 0.3, 0.5, 0.7, 0.9, 0.8,       0.7,      0.6,
                                  0.5, 0.4, 0.3, 0.2, 0.1, 0.1 / 1.4, 0.1 / 1.8};
  for (std::size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(c.learning_rate(static_cast<std::int64_t>(step)), rates[step], 1e-15) << step;
  }
  EXPECT_DOUBLE_EQ(c.momentum(0), 0.9);
  EXPECT_DOUBLE_EQ(c.momentum(4), 0.8);
  EXPECT_DOUBLE_EQ(c.momentum(8), 0.85);
  EXPECT_DOUBLE_EQ(c.momentum(12), 0.9);
  EXPECT_DOUBLE_EQ(c.momentum(22), 0.9 * 1.02);
}

TEST(OneCycle, TakesStairsAndNoDecay) {
  const OneCycle c{.least_rate = 0,
                   .greatest_rate = 1,
                   .first_steps = 8,
                   .second_steps = 4,
                   .first_stairs = 2,
                   .second_stairs = 4};
  const std::vector<double> rates{0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 1, 0.75, 0.5, 0.25, 0, 0, 0};
  for (std::size_t step = 0; step < rates.size(); ++step) {
    EXPECT_DOUBLE_EQ(c.learning_rate(static_cast<std::int64_t>(step)), rates[step]) << step;
  }
  EXPECT_DOUBLE_EQ(c.momentum(100), 0.9);
}

TEST(OneCycle, SaysWhatDoesNotFit) {
  EXPECT_ERROR(OneCycle{}.learning_rate(-1), "OneCycle: step -1");
  EXPECT_ERROR(OneCycle{.first_steps = 0}.momentum(0), "0 steps up and 2000 down");
  EXPECT_ERROR(OneCycle{.least_rate = 2}.learning_rate(0), "a learning rate from 2 to 0.001");
  EXPECT_ERROR(OneCycle{.greatest_momentum = 1}.momentum(0), "a momentum from 0.8 to 1");
  EXPECT_ERROR(OneCycle{.rate_decay = -1}.momentum(0), "stairs and decays");
}

TEST(RateRangeTest, Grows) {
  const RateRangeTest line{.least = 0.01, .growth = 3, .interval = 4};
  EXPECT_DOUBLE_EQ(line.learning_rate(0), 0.01);
  EXPECT_DOUBLE_EQ(line.learning_rate(2), 0.01 * 2.5);
  EXPECT_DOUBLE_EQ(line.learning_rate(4), 0.04);
  const RateRangeTest stairs{.least = 0.01, .growth = 3, .interval = 4, .stairs = true};
  EXPECT_DOUBLE_EQ(stairs.learning_rate(3), 0.01);
  EXPECT_DOUBLE_EQ(stairs.learning_rate(9), 0.07);
  EXPECT_ERROR(line.learning_rate(-1), "RateRangeTest: step -1");
  EXPECT_ERROR(RateRangeTest{.interval = 0}.learning_rate(0), "per 0 steps");
}

}  // namespace
}  // namespace riesz::testing
