// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A placed model trains on a pipeline what it trains on one worker. bench/pipeline_product.cpp runs all the
// courses of which some are run here.
#include "riesz/pipeline/run/pipeline.h"

#include <gtest/gtest.h>

#include <vector>

#include "product.h"
#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

/// On all numbers of ranks together, every two values of grid, schedule, recompute, ZeRO, runs and tied.
TEST(Pipeline, TrainsWhatOneWorkerDoes) {
  PlacedCourse one;
  one.micro_batches = 1;
  one.steps = 2;
  const TrainingRun untied = train_alone(one);
  one.config.tied = true;
  const TrainingRun tied = train_alone(one);
  int here = 0;
  const auto cost = [](const Choice& choice) { return 2 + ranks_of(choice); };
  for (const Choice& choice : covering_pairs(all_courses(3), cost)) {
    if (ranks_of(choice) != Runtime::size()) continue;
    PlacedCourse course = course_of(choice);
    course.steps = one.steps;
    SCOPED_TRACE(to_string(course));
    EXPECT_TRUE(compare_runs(train_placed(course), course.config.tied ? tied : untied));
    ++here;
  }
  EXPECT_GE(here, 3);
}

}  // namespace
}  // namespace riesz::testing
