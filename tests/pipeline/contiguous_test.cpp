// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/contiguous.h"

#include <gtest/gtest.h>

#include "random_tree.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// minGPT's modules, with a vocabulary that costs as much as two blocks.
CostTree language_model(int layers) {
  CostTree h{.path = "transformer.h"};
  for (int i = 0; i < layers; ++i)
    h.children.push_back({.path = concat("transformer.h.", i),
                          .children = {{.path = concat("transformer.h.", i, ".attn"), .own = {2, 20, 0}},
                                       {.path = concat("transformer.h.", i, ".mlp.0"), .own = {1, 20, 0}}}});
  return {
      .path = "",
      .own = {1, 5, 0},
      .children = {{.path = "transformer.wte", .own = {0, 80, 0}}, h, {.path = "lm_head", .own = {6, 0, 0}}}};
}

std::vector<std::vector<std::string>> modules(const StagePlan& plan) {
  std::vector<std::vector<std::string>> all;
  for (const auto& stage : plan.stages) all.push_back(stage.modules);
  return all;
}

using Modules = std::vector<std::vector<std::string>>;

TEST(Contiguous, CutsBetweenBlocks) {
  const CostTree tree = language_model(5);
  EXPECT_EQ(modules(contiguous(tree, 2, Measure::count)),
            (Modules{{"transformer.wte", "transformer.h.0", "transformer.h.1", "transformer.h.2"},
                     {"transformer.h.3", "transformer.h.4", "lm_head"}}));
  EXPECT_EQ(
      modules(contiguous(tree, 2, Measure::parameters)),
      (Modules{{"transformer.wte", "transformer.h.0"},
               {"transformer.h.1", "transformer.h.2", "transformer.h.3", "transformer.h.4", "lm_head"}}));
  EXPECT_EQ(modules(contiguous(tree, 3, Measure::time)),
            (Modules{{"transformer.wte", "transformer.h.0", "transformer.h.1"},
                     {"transformer.h.2", "transformer.h.3", "transformer.h.4"},
                     {"lm_head"}}));
}

TEST(Contiguous, CountsTheRootWithTheFirstStage) {
  const StagePlan plan = contiguous(language_model(4), 3, Measure::parameters);
  EXPECT_EQ(plan.stages[0].cost.parameters, 85);
  EXPECT_EQ(plan.stages[0].cost.time, 1);
  EXPECT_EQ(plan.stages[1].cost.parameters, 80);
}

TEST(Contiguous, HasOneStageOrAsManyAsBlocks) {
  const CostTree tree = language_model(2);
  EXPECT_EQ(modules(contiguous(tree, 1, Measure::time)),
            (Modules{{"transformer.wte", "transformer.h", "lm_head"}}));
  EXPECT_EQ(modules(contiguous(tree, 4, Measure::count)),
            (Modules{{"transformer.wte"}, {"transformer.h.0"}, {"transformer.h.1"}, {"lm_head"}}));
}

TEST(Contiguous, SaysWhatDoesNotFit) {
  const CostTree tree = language_model(2);
  EXPECT_ERROR(contiguous(tree, 5, Measure::count), "5 stages of 4 blocks",
               "transformer.wte, transformer.h.[0-1], lm_head");
  EXPECT_ERROR(contiguous(tree, 0, Measure::count), "0 stages");
  EXPECT_ERROR(contiguous(chain_of({{.time = 1}}), 2, Measure::count), "2 stages of 1 block;");
  EXPECT_ERROR(contiguous(chain_of({{}, {}}), 2, Measure::time), "no module has a time", "by count");
  EXPECT_ERROR(contiguous(chain_of({{}, {}}), 2, Measure::parameters), "no module has parameters");
  EXPECT_EQ(contiguous(chain_of({{}, {}}), 2, Measure::count).stages.size(), 2U);
  EXPECT_ERROR(contiguous(chain_of({{.time = -1}}), 1, Measure::time), "Module 0 costs -1 s");
}

}  // namespace
}  // namespace riesz::testing
