// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <vector>

#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

/// How workers are joined: so many of what the level below joins (of workers, in the first), by this many
/// bytes a second.
struct WorkerLevel {
  int count = 1;
  double bandwidth = std::numeric_limits<double>::infinity();
};

struct PipeDreamOptions {
  int replicas = 1;                                            ///< most workers of one stage
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes a second between two workers
  double memory = std::numeric_limits<double>::infinity();     ///< bytes of a worker
  /// Instead of `bandwidth`, the innermost first: {{4, 1e10}, {2, 1e9}} are two hosts of four workers.
  std::vector<WorkerLevel> levels = {};
};

/// PipeDream's planner (Harlap et al., arXiv 1806.03377): the model's `blocks`, in order, in contiguous
/// stages on N workers, a stage on r ≥ 1 of them, which take turns with micro-batches. It minimises the time
/// between two micro-batches, the largest over the stages of
///
///     max( (T + 4 (r − 1) W / (r · bandwidth)) / r,  2 a / bandwidth )
///
/// There T is the stage's time, W its bytes of weights, which its workers reduce, a the
/// bytes that come into it. A worker keeps weights and activations of all micro-batches that are under way
/// from its stage on:
///
///     ⌈(workers of this stage and all after it) / r⌉ · (W + activations) ≤ memory
///
/// With levels (Narayanan et al., SOSP 2019) it is the same on each. r of the outermost level's hosts have a
/// range of the blocks and take turns with micro-batches. Each of them is a pipeline of that range on what it
/// joins. T is then the time between two micro-batches in that pipeline, and bandwidth the level's.
///
/// Among plans as good it takes the one of `divide`, on each level. With one replica there are N stages,
/// otherwise N or fewer. O(n⁴) for n blocks and each level above the first.
/// @throws Error if there is no plan; naming the least memory with which there is one; or unless the levels
/// join that many workers.
StagePlan pipedream(const CostTree& tree, int workers, const PipeDreamOptions& options = {});

}  // namespace riesz
