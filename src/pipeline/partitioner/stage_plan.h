// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/pipeline/partitioner/cost_tree.h"

namespace riesz {

/// Which stage has which module: a path's is that of all below it, unless a longer path says another. The
/// root's is 0 unless it is said.
using ModuleStages = std::map<std::string, int>;

/// A model in stages: what partitioners give.
struct StagePlan {
  struct Stage {
    /// The largest below the root that lie in it whole, in the order of calls.
    std::vector<std::string> modules;
    Cost cost;
    int workers = 1;  ///< among which its micro-batches are dealt out
    /// Where workers are joined by levels: `workers` is the product of so many of each, the innermost first.
    std::vector<int> by_level = {};
  };

  ModuleStages placement;
  std::vector<Stage> stages;
};

/// The plan of a placement. @throws Error naming the stage if one has no module, or a number is not below
/// `stages`; naming the path if there is no such module.
StagePlan stage_plan(const CostTree& tree, const ModuleStages& placement, int stages);

/// A line for each stage: its time and its memory, each with its share, and its workers if there are more
/// than one ("2 x 4": in each of two hosts four). Then its modules, with the form of names that `by_names`
/// reads ("transformer.h.[0-3]").
std::string to_string(const StagePlan& plan);

}  // namespace riesz
