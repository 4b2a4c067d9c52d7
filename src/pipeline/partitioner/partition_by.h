// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "riesz/pipeline/partitioner/pipedream.h"
#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

struct PartitionerOptions {
  /// By names: a pattern of paths (`*`, `?`, `[0-11]`) and the stage of what it means.
  std::vector<std::pair<std::string, int>> names = {};
  double memory_weight = 0.5;                                  ///< SageMaker: α
  int replicas = 1;                                            ///< PipeDream: most workers of a stage
  double bandwidth = std::numeric_limits<double>::infinity();  ///< PipeDream: bytes a second
  double memory = std::numeric_limits<double>::infinity();     ///< PipeDream: bytes of a worker
  std::vector<WorkerLevel> levels = {};                        ///< PipeDream: instead of one bandwidth
};

/// The model in stages, by a partitioner's name:
///
///     name         what it minimises
///     count        the most blocks of a stage
///     parameters   the most bytes of weights of a stage
///     time         the longest time of a stage
///     names        nothing: `options.names` say the stages
///     pipedream    the time between two micro-batches, within a memory; `stages` are its workers
///     sagemaker    at each level of the tree, the largest share of memory and time
///
/// `StagePlan::placement` is then given to `spaces::placed`.
/// A function of its arguments alone, so all workers that give the same costs have the same plan. Local.
/// @throws Error with all names, if this is none of them; and what that partitioner throws.
StagePlan partition_by(const std::string& name, const CostTree& tree, int stages,
                       const PartitionerOptions& options = {});

/// Those that there are.
const std::vector<std::string>& partitioner_names();

/// Each pattern's modules, with all below them, in its stage; the longer path wins. A module that no pattern
/// means is where its owner is; the root is in stage 0.
/// @throws Error naming the pattern if it means no module, or one that another pattern has elsewhere.
StagePlan by_names(const CostTree& tree, const std::vector<std::pair<std::string, int>>& names, int stages);

}  // namespace riesz
