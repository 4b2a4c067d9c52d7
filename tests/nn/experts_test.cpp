// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Experts in two blocks, trained at every layout, against one process's training in torch's own operations.
// bench/experts_sweep.cpp has more of both.
#include "riesz/nn/experts/experts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expert_training.h"
#include "riesz/comm/runtime.h"

namespace riesz::testing {
namespace {

void expect_plain_training(const ExpertCase& of, const std::vector<Partition>& meshes) {
  const Partition here = Partition::world().subset({Runtime::rank()});
  const TrainingRun plain =
      train_expert_blocks_plainly(of, train_expert_blocks(here.grid({{"dp", 1}, {"ep", 1}}), of));
  for (const Partition& mesh : meshes) {
    SCOPED_TRACE(to_string(mesh));
    EXPECT_TRUE(compare_runs(train_expert_blocks(mesh, of), plain));
  }
}

/// A few, in which each axis has workers.
std::vector<Partition> some_grids() {
  const Partition world = Partition::world();
  const int n = world.size();
  std::vector<Partition> grids{world.grid({{"ep", n}}), world.grid({{"dp", n}, {"xp", 1}})};
  if (n % 2 == 0) {
    grids.push_back(world.grid({{"dp", 2}, {"ep", n / 2}}));
    grids.push_back(world.grid({{"ep", n / 2}, {"st", 2}}));
    grids.push_back(world.grid({{"xp", n / 2}, {"sp", 2}}));
  }
  return grids;
}

TEST(Experts, TrainAsOneProcessAtEveryLayout) {
  expect_plain_training(
      {.gate = {.k = 2, .balance = GateOptions::Balance::gshard, .balance_weight = 0.5, .z_weight = 0.1}},
      grids_of_four({"dp", "ep", "sp", "tp"}));
}

TEST(Experts, TrainAsOneProcessWhereTokensAreTheSameOnTheirAxis) {
  expect_plain_training({.experts = 4,
                         .gated = false,
                         .like_gpt2 = true,
                         .gate = {.k = 3, .score = GateOptions::Score::sigmoid},
                         .steps = 3},
                        grids_of_four({"dp", "xp", "sp", "st"}));
}

TEST(Experts, TrainAsOneProcessUnderZeroRecomputeAndMicroBatches) {
  for (int stage = 0; stage <= 3; ++stage) {
    SCOPED_TRACE("stage " + std::to_string(stage));
    expect_plain_training({.gate = {.k = 2, .renormalise = false},
                           .zero = stage,
                           .recompute = stage % 2 == 1,
                           .micro_batches = stage == 0 ? 1 : 2,
                           .steps = 3},
                          some_grids());
  }
}

/// LAMB's norms are of whole parameters: each expert's counts once.
TEST(Experts, TrainByLambAsOneProcess) {
  expect_plain_training({.gated = false, .like_gpt2 = true, .zero = 2, .lamb = true, .steps = 2},
                        some_grids());
}

TEST(Experts, OfAnyNumberDropChoicesAlike) {
  using Drop = GateOptions::Drop;
  for (const ExpertCase& of :
       {ExpertCase{.experts = 1, .gate = {.k = 1}, .steps = 2},
        ExpertCase{.experts = 9, .gate = {.k = 9}, .steps = 2},
        ExpertCase{.experts = 2, .inner = 3, .gate = {.k = 1}, .steps = 2},
        ExpertCase{.experts = 5,
        .gate = {.k = 2,
                .drop = Drop::position,
                .capacity_factor = 0.7,
                .least_capacity = 1,
                .balance = GateOptions::Balance::all_choices}},
        ExpertCase{.experts = 9,  // most tokens keep one choice or none
                   .beside = true,
        .gate = {.k = 2, .drop = Drop::probability, .capacity_factor = 0.5, .least_capacity = 1},
        .micro_batches = 2,
        .steps = 2},
        ExpertCase{.gate = {.k = 1, .renormalise = false}, .ties = true, .steps = 1},
        ExpertCase{
            .experts = 4,
 .gate = {.k = 2, .renormalise = false, .drop = Drop::position, .capacity_factor = 0.1, .least_capacity = 1},
 .ties = true,
 .steps = 1}}) {
    SCOPED_TRACE(std::to_string(of.experts) + " experts");
    expect_plain_training(of, some_grids());
  }
}

}  // namespace
}  // namespace riesz::testing
