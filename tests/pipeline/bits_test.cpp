// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules whose chunks go backward through the micro-batches in one order give the same bits, and so does
// the placed model without a schedule, one micro-batch after another; in fp64, in
// fp32 that computes in bf16, and in bf16.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

/// By chunk, the micro-batches in the order in which the gradients of inputs are computed, and of weights.
using Order = std::map<int, std::pair<std::vector<int>, std::vector<int>>>;

Order backward_order(const Schedule& table) {
  Order order;
  for (const std::vector<Action>& row : table.rows) {
    for (const Action& action : row) {
      auto& [inputs, weights] = order[action.chunk];
      const bool all = action.pass == Pass::backward;
      if (all || action.pass == Pass::backward_inputs) inputs.push_back(action.micro_batch);
      if (all || action.pass == Pass::backward_weights) weights.push_back(action.micro_batch);
    }
  }
  return order;
}

/// Of the schedules that go backward in the naive order, all are compared; there are so many.
void expect_one_run(PlacedCourse course, int tp, const std::vector<std::string>& schedules,
                    int of_one_order) {
  const std::map<int, int> stages{{2, 2}, {4, 2}, {6, 3}};
  course.steps = 1;
  if (!stages.contains(Runtime::size())) return;
  course.pp = stages.at(Runtime::size());
  course.tp = Runtime::size() == 4 ? tp : 1;
  course.dp = Runtime::size() / course.pp / course.tp;
  course.micro_batches = course.pp == 3 ? 3 : 4;
  Order in_turn;
  for (int chunk = 0; chunk < course.pp * course.chunks; ++chunk) {
    for (int i = 0; i < course.micro_batches; ++i) {
      in_turn[chunk].first.push_back(i);
      in_turn[chunk].second.push_back(i);
    }
  }
  course.schedule = schedules.front();
  const TrainingRun naive = train_naively(course);
  for (const std::string& schedule : schedules) {
    course.schedule = schedule;
    SCOPED_TRACE(to_string(course));
    if (backward_order(schedule_of(course)) != in_turn) continue;
    --of_one_order;
    expect_same_bits(train_placed(course), naive);
  }
  EXPECT_EQ(of_one_order, 0) << "schedules that are compared";
}

TEST(PipelineBits, AreThoseOfEveryScheduleOfOneOrder) {
  PlacedCourse course;
  course.type = at::kFloat;
  course.config.contraction.compute_type = at::kBFloat16;
  expect_one_run(course, 2, {"gpipe", "one_f_one_b", "varuna", "zb_h1", "zb_h2"}, 5);
}

TEST(PipelineBits, AreThoseOfEveryScheduleOfTwoChunks) {
  PlacedCourse course;
  course.chunks = 2;
  expect_one_run(course, 2, {"interleaved", "zb_v", "v_half", "v_min"}, 4);
}

/// Where weights' gradients are put off, those of biases and norms meet at the leaf, in its type.
TEST(PipelineBits, OfHalfParametersAreThoseOfEverySchedule) {
  PlacedCourse course;
  course.type = at::kBFloat16;
  course.zero = ZeroOptions{.stage = Runtime::size() == 4 ? 3 : 2, .keep = 50};
  expect_one_run(course, 1, {"gpipe", "one_f_one_b"}, 2);
}

}  // namespace
}  // namespace riesz::testing
