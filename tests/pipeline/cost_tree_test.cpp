// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/cost_tree.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "riesz/models/min_gpt.h"
#include "riesz/pipeline/partitioner/sagemaker.h"

namespace riesz::testing {
namespace {

TEST(CostTree, CountsTheParametersOfAModel) {
  const models::MinGptConfig config{
      .layers = 3, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0.1};
  const models::MinGpt model(spaces::one_d(Partition::simulated(1).grid({{"dp", 1}})), config);
  std::int64_t elements = 0;
  for (const Parameter& parameter : model.parameters()) elements += parameter.numel();

  const CostTree tree = cost_tree(model);
  EXPECT_EQ(total(tree).parameters, 4.0 * static_cast<double>(elements));
  EXPECT_EQ(total(cost_tree(model, at::kDouble)).parameters, 8.0 * static_cast<double>(elements));

  std::vector<std::string> paths;
  double parameters = 0;
  for (const Block& block : blocks(tree)) {
    paths.push_back(block.path);
    parameters += block.cost.parameters;
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"transformer.wte", "transformer.wpe", "transformer.drop",
                                             "transformer.h.0", "transformer.h.1", "transformer.h.2",
                                             "transformer.ln_f", "lm_head"}));
  EXPECT_EQ(parameters, total(tree).parameters);
  EXPECT_EQ(blocks(tree)[0].cost.parameters, 4 * 97 * 15);
  EXPECT_TRUE(blocks(tree)[3].numbered);
}

TEST(CostTree, KnowsTiedWeights) {
  const models::MinGptConfig config{
      .layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .tied = true};
  const models::MinGpt model(spaces::one_d(Partition::simulated(1).grid({{"dp", 1}})), config);
  std::map<std::string, std::vector<std::string>> shared;
  const std::function<void(const CostTree&)> visit = [&](const CostTree& tree) {
    if (!tree.shared.empty()) shared[tree.path] = tree.shared;
    for (const CostTree& part : tree.children) visit(part);
  };
  const CostTree tree = cost_tree(model);
  visit(tree);
  const std::vector<std::string> table{"transformer.wte.weight"};
  EXPECT_EQ(shared, (std::map<std::string, std::vector<std::string>>{{"transformer.wte", table},
                                                                     {"lm_head", table}}));

  const ModuleStages placement = sagemaker(tree, 3, 1).placement;
  const auto stage_of = [&](const char* path) { return placement.contains(path) ? placement.at(path) : 0; };
  EXPECT_EQ(stage_of("transformer.wte"), stage_of("lm_head"));
}

TEST(CostTree, HasOneBlockWhereNothingIsBelow) {
  const std::vector<Block> only = blocks({.path = "linear", .own = {1, 2, 3}});
  EXPECT_EQ(only.size(), 1U);
  EXPECT_EQ(only[0].path, "linear");
  EXPECT_EQ(only[0].cost.memory(), 5);
}

}  // namespace
}  // namespace riesz::testing
