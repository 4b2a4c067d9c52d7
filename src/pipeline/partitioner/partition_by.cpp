// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/partition_by.h"

#include <functional>
#include <map>

#include "riesz/comm/error.h"
#include "riesz/nn/names.h"
#include "riesz/pipeline/partitioner/contiguous.h"
#include "riesz/pipeline/partitioner/pipedream.h"
#include "riesz/pipeline/partitioner/sagemaker.h"

namespace riesz {
namespace {

using Partitioner = std::function<StagePlan(const CostTree&, int stages, const PartitionerOptions&)>;

Partitioner by(Measure measure) {
  return [measure](const CostTree& tree, int stages, const PartitionerOptions&) {
    return contiguous(tree, stages, measure);
  };
}

const std::map<std::string, Partitioner>& partitioners() {
  static const std::map<std::string, Partitioner> all{
      {"count", by(Measure::count)},
      {"parameters", by(Measure::parameters)},
      {"time", by(Measure::time)},
      {"names", [](const CostTree& tree, int stages,
                   const PartitionerOptions& options) { return by_names(tree, options.names, stages); }},
      {"pipedream",
       [](const CostTree& tree, int stages, const PartitionerOptions& options) {
         return pipedream(tree, stages,
                          {options.replicas, options.bandwidth, options.memory, options.levels});
       }},
      {"sagemaker", [](const CostTree& tree, int stages, const PartitionerOptions& options) {
         return sagemaker(tree, stages, options.memory_weight);
       }}};
  return all;
}

void add_paths(const CostTree& tree, std::vector<std::string>& paths) {
  if (!tree.path.empty()) paths.push_back(tree.path);
  for (const CostTree& child : tree.children) add_paths(child, paths);
}

}  // namespace

const std::vector<std::string>& partitioner_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& each : partitioners()) all.push_back(each.first);
    return all;
  }();
  return names;
}

StagePlan partition_by(const std::string& name, const CostTree& tree, int stages,
                       const PartitionerOptions& options) {
  const auto found = partitioners().find(name);
  RIESZ_CHECK(found != partitioners().end(), "There is no partitioner '", name, "'; there are ",
              shortened(partitioner_names()));
  return found->second(tree, stages, options);
}

StagePlan by_names(const CostTree& tree, const std::vector<std::pair<std::string, int>>& names, int stages) {
  std::vector<std::string> paths;
  add_paths(tree, paths);
  std::map<std::string, std::pair<std::string, int>> of;  // a path's pattern and stage
  for (const auto& [pattern, stage] : names) {
    bool any = false;
    for (const std::string& path : paths) {
      if (!name_matches(pattern, path)) continue;
      any = true;
      const auto& said = of.emplace(path, std::pair(pattern, stage)).first->second;
      RIESZ_CHECK(said.second == stage, "the patterns \"", said.first, "\" and \"", pattern, "\" both mean ",
                  path, ", which would be in stages ", said.second, " and ", stage);
    }
    RIESZ_CHECK(any, "the pattern \"", pattern, "\" of stage ", stage, " means no module; there are ",
                shortened(paths));
  }
  ModuleStages placement;
  for (const auto& [path, said] : of) placement.emplace(path, said.second);
  return stage_plan(tree, placement, stages);
}

}  // namespace riesz
