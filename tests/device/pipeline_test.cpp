// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A placed model on another device trains as on the CPU, by every schedule.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../pipeline/placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

PlacedCourse small_course() {
  PlacedCourse course{.batch = 4, .micro_batches = 4, .steps = 2};
  course.config.layers = 4;
  course.pp = 2;
  course.dp = Runtime::size() / 2;
  return course;
}

/// Of two stages, so of an even number of workers.
void expect_trained_there(PlacedCourse course) {
  if (Runtime::size() % 2 != 0) return;
  SCOPED_TRACE(to_string(course));
  const TrainingRun here = train_placed(course);
  course.device = pretend_device();
  EXPECT_TRUE(compare_runs(train_placed(course), here));
}

class OnADeviceInStages : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Schedules, OnADeviceInStages,
                         ::testing::Values("gpipe", "one_f_one_b", "varuna", "zb_h1", "zb_h2", "interleaved",
                                           "zb_v", "v_half", "v_min"));

TEST_P(OnADeviceInStages, Trains) {
  PlacedCourse course = small_course();
  course.schedule = GetParam();
  const bool several =
      course.schedule == "interleaved" || course.schedule[0] == 'v' || course.schedule == "zb_v";
  course.chunks = several && course.schedule != "varuna" ? 2 : 1;
  expect_trained_there(course);
}

using OnADevicePlaced = OnADeviceInStages;
INSTANTIATE_TEST_SUITE_P(Stages, OnADevicePlaced, ::testing::Values("one_f_one_b", "zb_h1"));

TEST_P(OnADevicePlaced, TrainsWithZeroAndRunsBlocksAgain) {
  PlacedCourse course = small_course();
  course.schedule = GetParam();
  course.config.tied = true;
  course.recompute = {.regions = RecomputePolicy::Regions::blocks};
  expect_trained_there(course);
  course.config.tied = false;
  for (const int stage : {1, 3}) {
    course.zero = ZeroOptions{.stage = stage, .bucket = 1000, .keep = 100};
    expect_trained_there(course);
  }
}

}  // namespace
}  // namespace riesz::testing
