// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Where state lives changes no run: every stage, layout, accumulation and optimizer trains the model that one
// worker trains without.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "riesz/optim/adafactor.h"
#include "riesz/optim/adamw.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/sgd.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr double kEpsilon = 1e-6;  // a key bias's true gradient is zero: a smaller one blows up its rounding

const std::map<std::string, MakeOptimizer>& optimizers() {
  using Made = std::unique_ptr<Optimizer>;
  static const std::map<std::string, MakeOptimizer> all{
      {"SGD",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<SGD>(std::move(store),
                                      SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
       }},
      {"AdamW",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<AdamW>(
             std::move(store), AdamWOptions{.learning_rate = 1e-2, .epsilon = kEpsilon, .weight_decay = 0.1});
       }},
      {"LAMB",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<Lamb>(
             std::move(store), LambOptions{.learning_rate = 1e-2, .epsilon = kEpsilon, .weight_decay = 0.1});
       }},
      {"Adafactor",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<Adafactor>(
             std::move(store),
             AdafactorOptions{.learning_rate = 1e-2, .epsilon1 = kEpsilon, .weight_decay = 0.1});
       }},
  };
  return all;
}

class Stages : public ::testing::TestWithParam<int> {};

TEST_P(Stages, TrainTheModelOfOneWorker) {
  for (const auto& [name, optimizer] : optimizers()) {
    Course course{.optimizer = optimizer};
    const TrainingRun reference = train(course, models::spaces::one_d(one_worker(), course.config));
    for (const Partition& mesh : dp_tp_meshes()) {
      for (const std::int64_t micro_batches : {1, 3}) {
        course.micro_batches = micro_batches;
        course.zero = ZeroOptions{.stage = GetParam(), .bucket = 5000, .keep = 100};
        const TrainingRun run = train(course, models::spaces::one_d(mesh, course.config));
        EXPECT_TRUE(compare_runs(run, reference))
            << name << ", " << micro_batches << " micro-batches, on " << to_string(mesh);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace riesz::testing
