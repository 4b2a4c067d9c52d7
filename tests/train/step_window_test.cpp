// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/step_window.h"

#include <gtest/gtest.h>

#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"

namespace riesz {
namespace {

Config with_profile(const std::string& text) {
  Config config;
  config.train.steps = 10;
  config.train.profile = text;
  return config;
}

TEST(StepWindow, IsFirstToLast) {
  EXPECT_EQ(profile_window(with_profile("")), std::nullopt);
  EXPECT_EQ(profile_window(with_profile("3:6")), (StepWindow{3, 6}));
  EXPECT_EQ(profile_window(with_profile("10:10")), (StepWindow{10, 10}));
  EXPECT_EQ(profile_window(with_profile("9:20")), (StepWindow{9, 20}));
}

TEST(StepWindow, IsRefusedWithARemedy) {
  for (const char* text : {"3", "x:4", "3:", ":4", "0:4", "3:-1", "3:6:9", "3 : 6", "99999999999999999999:1"})
    EXPECT_ERROR(profile_window(with_profile(text)),
                 "the first and the last, counted from 1, such as \"3:6\"");
  EXPECT_ERROR(profile_window(with_profile("6:3")), "train.profile = \"6:3\"",
               "ends before it begins; write \"3:6\"");
  EXPECT_ERROR(profile_window(with_profile("11:12")), "train.profile = \"11:12\"",
               "begins after the last step: train.steps = 10", "; profile earlier steps, or train longer");
}

TEST(StepWindow, IsRefusedWhereRangesGoToAnotherProfiler) {
  Config config = with_profile("3:6");
  config.schedule.warm_up = 0;
  check_config(config, 1);
  config.train.nvtx = true;
  EXPECT_ERROR(check_config(config, 1), "train.profile = \"3:6\"", "train.nvtx is true", "leave one out");
  config.train.profile = "";
  check_config(config, 1);
}

}  // namespace
}  // namespace riesz
