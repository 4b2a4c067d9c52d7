// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/partition_by.h"

#include <gtest/gtest.h>

#include "random_tree.h"
#include "riesz/nn/names.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TEST(PartitionBy, FindsEveryPartitioner) {
  const CostTree tree = chain_of({{1e-3, 1, 0}, {2e-3, 1024, 1024}, {1, 3 << 20, 0}});
  for (const std::string& name : partitioner_names()) {
    const StagePlan plan = partition_by(name, tree, 2, {.names = {{"[1-2]", 1}}});
    ASSERT_EQ(plan.stages.size(), 2U) << name;
    EXPECT_EQ(plan.stages[0].cost.time + plan.stages[1].cost.time, total(tree).time) << name;
  }
  EXPECT_ERROR(partition_by("size", tree, 2), "There is no partitioner 'size'",
               "count, names, parameters, pipedream, sagemaker, time");
}

TEST(PartitionBy, PrintsStages) {
  const CostTree tree = chain_of({{1e-3, 1, 0}, {2e-3, 1024, 1024}, {1, 3 << 20, 0}});
  EXPECT_EQ(to_string(partition_by("count", tree, 2)),
            "stage     time  share   memory  share  modules\n"
            "    0  3.00 ms    0 %  2.0 KiB    0 %  [0-1]\n"
            "    1   1.00 s  100 %  3.0 MiB  100 %  2\n");
  EXPECT_EQ(to_string(partition_by("pipedream", chain_of({{2e-6, 0, 0}, {}}), 2, {.replicas = 2})),
            "stage    time  share  memory  share  workers  modules\n"
            "    0  2.0 us  100 %     0 B      -        2  [0-1]\n");
}

TEST(PartitionBy, ReadsPatternsOfNames) {
  EXPECT_TRUE(name_matches("transformer.h.[0-11]", "transformer.h.11"));
  EXPECT_FALSE(name_matches("transformer.h.[0-11]", "transformer.h.12"));
  EXPECT_FALSE(name_matches("transformer.h.[0-11]", "transformer.h.1.attn"));
  EXPECT_TRUE(name_matches("*.h?.*", "encoder.h1.norm"));
  EXPECT_FALSE(name_matches("*.norm", "a.b.norm"));
  EXPECT_TRUE(name_matches("h[3]", "h3"));
  EXPECT_FALSE(name_matches("*", ""));
  EXPECT_ERROR(name_matches("h.[0-a]", "h.0"), "'h.[0-a]'", "a range of integers");
  EXPECT_ERROR(name_matches("h.[0", "h.0"), "a [ without ]");
  EXPECT_EQ(shortened({"h.0", "h.1", "h.3", "x", "8", "9", "10"}), "h.[0-1], h.3, x, [8-10]");
}

CostTree blocks_with_parts() {
  CostTree tree;
  for (const char* block : {"h.0", "h.1", "h.2"})
    tree.children.push_back({.path = block,
                             .children = {{.path = std::string(block) + ".attn", .own = {1, 1, 0}},
                                          {.path = std::string(block) + ".mlp", .own = {1, 1, 0}}}});
  return tree;
}

TEST(PartitionBy, NamesPlaceAnyModuleAnywhere) {
  const StagePlan plan = by_names(blocks_with_parts(), {{"h.*.mlp", 1}, {"h.2", 1}}, 2);
  EXPECT_EQ(plan.stages[0].modules, (std::vector<std::string>{"h.0.attn", "h.1.attn"}));
  EXPECT_EQ(plan.stages[1].modules, (std::vector<std::string>{"h.0.mlp", "h.1.mlp", "h.2"}));
  EXPECT_EQ(plan.stages[1].cost.time, 4);
}

TEST(PartitionBy, NamesSayWhatDoesNotFit) {
  const CostTree tree = blocks_with_parts();
  EXPECT_ERROR(by_names(tree, {{"h.3", 1}}, 2),
               "\"h.3\" of stage 1 means no module; there are h.0, h.0.attn");
  EXPECT_ERROR(by_names(tree, {{"h.1", 1}, {"h.[1-2]", 0}}, 2), "\"h.1\" and \"h.[1-2]\" both mean h.1",
               "1 and 0");
  EXPECT_ERROR(by_names(tree, {{"h.1", 2}}, 2), "'h.1' is placed in stage 2; there are 2");
  EXPECT_ERROR(by_names(tree, {{"h.1", 2}}, 3), "Stage 1 of 3 would have no module");
}

}  // namespace
}  // namespace riesz::testing
