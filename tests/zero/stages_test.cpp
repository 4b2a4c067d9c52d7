// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Where state lives changes no run: every stage with every optimizer, dp × tp and accumulation, in pairs,
// trains the model that one worker trains without.
#include <gtest/gtest.h>

#include <cstddef>

#include "training.h"

namespace riesz::testing {
namespace {

class Stages : public ::testing::TestWithParam<int> {};

/// Every stage with every optimizer on every mesh, with 1 or 3 micro-batches in turns: every pair of a stage,
/// an optimizer or a mesh with a number of micro-batches occurs.
TEST_P(Stages, TrainTheModelOfOneWorker) {
  std::size_t number = static_cast<std::size_t>(GetParam());
  for (const auto& [name, optimizer] : some_optimizers()) {
    Course course{.optimizer = optimizer};
    const TrainingRun reference = train(course, spaces::one_d(one_worker()));
    course.zero = ZeroOptions{.stage = GetParam(), .bucket = 5000, .keep = 100};
    std::size_t of_mesh = number++;
    for (const Partition& mesh : dp_tp_meshes()) {
      course.micro_batches = of_mesh++ % 2 == 0 ? 1 : 3;
      const TrainingRun run = train(course, spaces::one_d(mesh));
      EXPECT_TRUE(compare_runs(run, reference))
          << name << ", " << course.micro_batches << " micro-batches, on " << to_string(mesh);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace riesz::testing
