// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/skipped_steps.h"

#include <gtest/gtest.h>

namespace riesz {
namespace {

TEST(SkippedSteps, AreSaidWhereTheyAreManyInARow) {
  SkippedSteps skipped;
  for (std::int64_t step = 1; step <= 100; ++step) {
    // 1 to 9, then from 11 on
    const std::string text = skipped.after({.step = step, .skipped = step != 10});
    const bool said = step == 20 || step == 30 || step == 50 || step == 90;
    EXPECT_EQ(!text.empty(), said) << step << ": " << text;
    const bool all = text.starts_with("all of the last 20 steps, 11 to 30, were skipped");
    EXPECT_EQ(all, step == 30) << text;
  }
  EXPECT_TRUE(skipped.at_end().starts_with("99 of 100 steps were skipped")) << skipped.at_end();
  EXPECT_NE(skipped.at_end().find("lower optimizer.learning_rate"), std::string::npos);
}

TEST(SkippedSteps, AreNotSaidWhereAScaleIsFound) {
  SkippedSteps skipped;
  for (std::int64_t step = 1; step <= 20; ++step)
    EXPECT_EQ(skipped.after({.step = step, .skipped = step <= 9}), "");
  EXPECT_EQ(skipped.at_end(), "");
}

}  // namespace
}  // namespace riesz
