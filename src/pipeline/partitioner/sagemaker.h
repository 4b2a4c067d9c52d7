// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

/// The partitioner of Amazon SageMaker's model parallelism (arXiv 2111.05972): any module may be in any
/// stage. With all below it a module n costs C(n) = α · memory(n) / memory(root) + (1 − α) · time(n) /
/// time(root). There α = `memory_weight`, and a term whose root is 0 falls away. The root has all stages, and
/// each module runs in the first that it has. One stage passes to all below. Several are shared out among the
/// children. These are divided into as many contiguous segments (or one each, if there are fewer children)
/// that minimise the largest C (`divide`). By D'Hondt, the next stage goes to the segment with the largest C
/// / (stages it has + 1). A segment of several children and several stages is divided again; one without any
/// runs where the parent does.
///
/// Modules that share a parameter count as one, at the first one's place. A segment gets at most as many
/// stages as it has modules without parts, so no stage is empty. In the paper a wide embedding takes several
/// stages and uses one. Stages are numbered in the order in which calls of modules without parts reach them.
/// @throws Error unless memory_weight is in [0, 1], the cost is above 0, and each stage can have a module.
StagePlan sagemaker(const CostTree& tree, int stages, double memory_weight = 0.5);

}  // namespace riesz
