// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules whose chunks go backward through the micro-batches in one order give the same bits, and so does
// the placed model without a schedule, one micro-batch after another; in fp64, in fp32 that computes in bf16,
// and in bf16, in which no micro-batches are added.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "two_uses.h"

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

TEST(PipelineBits, OfHalfParametersAreThoseOfEverySchedule) {
  PlacedCourse course;
  course.type = at::kBFloat16;
  course.zero = ZeroOptions{.stage = Runtime::size() == 4 ? 3 : 2, .keep = 50};
  expect_one_run(course, 1, {"gpipe", "one_f_one_b", "zb_h1"}, 3);
}

/// Each worker has a row of 1 in the first micro-batch and of 2⁻⁹ in eight more: these are nothing where they
/// are added to 1 in bf16.
TEST(PipelineBits, OfALentHalfWeightAreAddedInFp32) {
  if (Runtime::size() % 2 != 0) return;
  constexpr int m = 9;
  for (const std::string name : {"one_f_one_b", "zb_h1"}) {
    SCOPED_TRACE(name);
    TwoUses model(1, false);
    const Pipeline pipeline(model, make_schedule(name, {.stages = 2, .micro_batches = m}));
    Zero zero(pipeline.parameters(0), {.stage = 1});
    pipeline.evaluate([&](std::int64_t) { model.sum_of_rows(1); });
    for (const bool reducing : {false, true})
      EXPECT_NO_THROW(zero.set_reducing(reducing)) << "no step has begun";
    pipeline.train([&](std::int64_t i) {
      zero.begin(i, m);
      return model.sum_of_rows(i == 0 ? 1 : 0x1p-9);
    });
    const at::Tensor w = known_to_all(Partition::world(), model.parameters().front().gradient());
    EXPECT_EQ(w.item<double>(), Runtime::size() * (1 + 0x1p-6));
  }
}

}  // namespace
}  // namespace riesz::testing
