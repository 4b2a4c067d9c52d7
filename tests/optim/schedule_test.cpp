// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace riesz::testing
