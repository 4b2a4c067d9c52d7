// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/pipeline/partitioner/divide.h"
#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

/// What `contiguous` counts of a block.
enum class Measure {
  count,       ///< 1 for one of several ("h.3"), 0 for what stands beside them; 1 each if none is of several
  parameters,  ///< bytes of weights
  time         ///< seconds
};

/// The model's `blocks`, in the order of calls, in contiguous stages. It minimises the largest stage's sum of
/// the measure, then what `divide` says.
/// @throws Error if there are fewer blocks than stages, or the measure is 0 for all of them.
StagePlan contiguous(const CostTree& tree, int stages, Measure measure);

/// The plan of a division of the blocks.
StagePlan contiguous_plan(const CostTree& tree, const std::vector<Block>& blocks, const Division& division);

/// @throws Error in the partitioner's name unless so many workers have a block each, or a share of one.
void check_stages(const std::string& who, int workers, const std::vector<Block>& blocks, int replicas = 1);

}  // namespace riesz
