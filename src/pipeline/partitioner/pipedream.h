// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

struct PipeDreamOptions {
  int replicas = 1;                                            ///< most workers of one stage
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes a second between two workers
  double memory = std::numeric_limits<double>::infinity();     ///< bytes of a worker
};

/// PipeDream's planner (Harlap et al., arXiv 1806.03377): the model's `blocks`, in order, in contiguous
/// stages on N workers, a stage on r ≥ 1 of them, which take turns with micro-batches. It minimises the time
/// between two micro-batches, the largest over the stages of
///   max( (T + 4 (r − 1) W / (r · bandwidth)) / r,  2 a / bandwidth ),
/// T the stage's time, W its bytes of weights, which its workers reduce, a the bytes that come into it. A
/// worker keeps weights and activations of all micro-batches that are under way from its stage on,
///   ⌈(workers of this stage and all after it) / r⌉ · (W + activations) ≤ memory.
/// Of plans as good the one that `divide` says. With one replica there are N stages, otherwise N or fewer.
/// @throws Error if there is no plan; naming the least memory with which there is one.
StagePlan pipedream(const CostTree& tree, int workers, const PipeDreamOptions& options = {});

}  // namespace riesz
