// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model with experts trains on a pipeline what plain LibTorch does on one worker: its gates send other
// tokens in each micro-batch, and the balance of its experts goes from stage to stage.
// bench/experts_sweep.cpp runs all the courses of which some are run here.
#include "routed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

/// One router, one expert, and all of the other ones.
const std::vector<std::string> kRouter{"model.layers.0.block_sparse_moe.gate.weight"};
const std::vector<std::string> kExpert{"model.layers.0.block_sparse_moe.experts.1.*.*"};
const std::vector<std::string> kOthers{"model.layers.1.block_sparse_moe.experts",
                                       "model.layers.0.block_sparse_moe.experts.0.*.*",
                                       "model.layers.0.block_sparse_moe.experts.2.*.*"};

/// Of all ranks: two stages where these divide, else one for each rank.
std::vector<RoutedCourse> some_routed_courses() {
  const int n = Runtime::size(), pp = n % 2 == 0 ? 2 : n, rest = n / pp;
  const std::int64_t layers = pp > 2 ? pp : 2;
  if (n == 1)
    return {{.micro_batches = 1, .recompute = true, .steps = 5},
            {.shared = true,
             .experts = 5,
             .experts_per_token = 3,
             .schedule = "one_f_one_b",
             .zero = 2,
             .steps = 5}};
  return {
      {.layers = layers, .pp = pp, .tp = rest},
      {.shared = true,
       .experts = 5,
       .experts_per_token = 3,
       .layers = layers,
       .pp = pp,
       .ep = rest,
       .schedule = "one_f_one_b",
       .zero = 2,
       .recompute = true},
      {.layers = layers, .pp = pp, .dp = rest, .schedule = "one_f_one_b", .zero = 3},
      {.layers = layers, .pp = pp, .ep = rest, .ep_like = "tp", .zero = 1, .frozen = kOthers},
      {.layers = layers, .pp = pp, .sp = rest, .schedule = "one_f_one_b", .trained = kRouter},
      {.layers = layers, .pp = pp, .ep = rest, .recompute = true, .trained = kExpert},
  };
}

TEST(RoutedPipeline, TrainsWhatPlainTorchDoes) {
  for (const RoutedCourse& course : some_routed_courses()) {
    SCOPED_TRACE(to_string(course));
    ASSERT_EQ(ranks_of(course), Runtime::size());
    const TrainingRun plain = train_routed_plainly(course);
    if (!course.trained.empty()) {
      EXPECT_EQ(plain.results.at("gradient of lm_head.weight").abs().max().item<double>(), 0);
    }
    EXPECT_TRUE(compare_runs(train_routed(course), plain));
  }
}

}  // namespace
}  // namespace riesz::testing
