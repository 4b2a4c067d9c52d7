// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/stage_grids.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "riesz/comm/error.h"

namespace riesz {

std::vector<Partition> stage_grids(const StagePlan& plan, const Partition& workers) {
  int all = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<int>& levels = plan.stages[s].by_level;
    const bool one_host =
        std::all_of(levels.begin() + (levels.empty() ? 0 : 1), levels.end(), [](int n) { return n == 1; });
    RIESZ_CHECK(one_host, "stage_grids: stage ", s, " of the plan lies on several hosts, so its workers do ",
                "not follow each other; give each stage a grid by hand, workers.subset(ranks).grid(axes)");
    all += plan.stages[s].workers;
  }
  RIESZ_CHECK(all == workers.size(), "stage_grids: the plan has ", all, " workers in its stages, and ",
              to_string(workers), " ", workers.size(), "; plan for as many as there are");
  std::vector<Partition> grids;
  int first = 0;
  for (const StagePlan::Stage& stage : plan.stages) {
    std::vector<int> ranks(static_cast<std::size_t>(stage.workers));
    std::iota(ranks.begin(), ranks.end(), first);
    first += stage.workers;
    grids.push_back(workers.subset(ranks).grid({{"dp", stage.workers}, {"tp", 1}}));
  }
  return grids;
}

}  // namespace riesz
