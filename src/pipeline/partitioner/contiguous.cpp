// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/contiguous.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "riesz/comm/error.h"
#include "riesz/nn/names.h"

namespace riesz {
namespace {

double measured(const Block& block, Measure measure, bool some_numbered) {
  switch (measure) {
    case Measure::count:
      return block.numbered || !some_numbered ? 1 : 0;
    case Measure::parameters:
      return block.cost.parameters;
    case Measure::time:
      return block.cost.time;
  }
  return 0;
}

std::string paths(const std::vector<Block>& blocks) {
  std::vector<std::string> all;
  for (const Block& block : blocks) all.push_back(block.path);
  return shortened(all);
}

}  // namespace

void check_stages(const std::string& who, int workers, const std::vector<Block>& blocks, int replicas) {
  const auto most = static_cast<std::int64_t>(blocks.size()) * replicas;
  RIESZ_CHECK(workers >= 1 && workers <= most, who, ": ", workers, replicas > 1 ? " workers" : " stages",
              " of ", blocks.size(), blocks.size() == 1 ? " block" : " blocks",
              replicas > 1 ? concat(", each on at most ", replicas) : std::string(),
              "; a stage has one block at least, of ", paths(blocks));
}

StagePlan contiguous_plan(const CostTree& tree, const std::vector<Block>& blocks, const Division& division) {
  ModuleStages placement;
  std::size_t block = 0;
  for (std::size_t stage = 0; stage < division.ends.size(); ++stage) {
    for (; block < division.ends[stage]; ++block)
      placement.emplace(blocks[block].path, static_cast<int>(stage));
  }
  StagePlan plan = stage_plan(tree, placement, static_cast<int>(division.ends.size()));
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
    plan.stages[stage].workers = division.workers[stage];
  return plan;
}

StagePlan contiguous(const CostTree& tree, int stages, Measure measure) {
  check_costs(tree);
  const std::vector<Block> all = blocks(tree);
  check_stages("Contiguous stages", stages, all);
  const bool some_numbered =
      std::any_of(all.begin(), all.end(), [](const Block& block) { return block.numbered; });
  std::vector<double> costs;
  for (const Block& block : all) costs.push_back(measured(block, measure, some_numbered));
  RIESZ_CHECK(std::any_of(costs.begin(), costs.end(), [](double cost) { return cost > 0; }),
              "Contiguous stages: ",
              measure == Measure::time ? "no module has a time; measure them first (measured)"
                                       : "no module has parameters",
              ", or partition by count");
  return contiguous_plan(tree, all, divide(costs, stages));
}

}  // namespace riesz
