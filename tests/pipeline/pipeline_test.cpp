// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A placed model trains on a pipeline what it trains on one worker, by every schedule.
#include "riesz/pipeline/run/pipeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

std::vector<PlacedCourse> courses() {
  std::vector<PlacedCourse> all;
  const int p = Runtime::size();
  int number = 0;
  for (const std::string schedule :
       {"gpipe", "one_f_one_b", "interleaved", "varuna", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min"}) {
    for (int pp = 1; pp <= p; ++pp) {
      if (p % pp != 0 || (pp == 1 && p > 1)) continue;
      PlacedCourse course;
      course.schedule = schedule;
      course.pp = pp;
      const bool two = schedule == "interleaved" || schedule[0] == 'v' || schedule == "zb_v";
      course.chunks = two && schedule != "varuna" ? 2 : 1;
      course.tp = p / pp % 2 == 0 && number % 3 > 0 ? 2 : 1;
      course.dp = p / pp / course.tp;
      course.config.tied = ++number % 2 == 0;
      if (number % 5 > 0) course.zero = number % 5 - 1;
      if (schedule == "interleaved" && course.micro_batches % pp != 0) continue;
      all.push_back(course);
    }
  }
  return all;
}

TEST(Pipeline, TrainsWhatOneWorkerDoes) {
  PlacedCourse one;
  const TrainingRun untied = train_alone(one);
  one.config.tied = true;
  const TrainingRun tied = train_alone(one);
  for (const PlacedCourse& course : courses()) {
    SCOPED_TRACE(concat(course.schedule, " on pp ", course.pp, ", dp ", course.dp, ", tp ", course.tp,
                        course.config.tied ? ", tied" : "", ", ZeRO ", course.zero.value_or(-1)));
    EXPECT_TRUE(compare_runs(train_placed(course), course.config.tied ? tied : untied));
  }
}

}  // namespace
}  // namespace riesz::testing
