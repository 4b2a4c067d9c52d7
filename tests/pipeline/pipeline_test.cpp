// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A placed model trains on a pipeline what it trains on one worker. bench/pipeline_product.cpp runs all the
// courses of which some are run here.
#include "riesz/pipeline/run/pipeline.h"

#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include <string>
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

TEST(Pipeline, EvaluatesAsOneWorkerDoes) {
  for (const std::string schedule : {"gpipe", "interleaved", "zb_v"}) {
    PlacedCourse course;
    course.schedule = schedule;
    course.chunks = schedule == "gpipe" ? 1 : 2;
    course.config.tied = schedule == "interleaved";
    course.pp = Runtime::size() % 3 == 0 ? 3 : Runtime::size() % 2 == 0 ? 2 : 1;
    course.dp = Runtime::size() / course.pp;
    course.micro_batches = 2 * course.pp;
    SCOPED_TRACE(to_string(course));
    const std::vector<at::Tensor> logits = PlacedModel(course).evaluate();
    const std::vector<at::Tensor> expected = evaluate_alone(course);
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_FALSE(logits[i].requires_grad());
      EXPECT_TRUE(at::allclose(logits[i], expected[i], 1e-10, 1e-12)) << "micro-batch " << i;
    }
  }
}

}  // namespace
}  // namespace riesz::testing
