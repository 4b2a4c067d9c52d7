// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/pipeline/partitioner/stage_plan.h"

namespace riesz {

/// Where the stages of a plan lie whose stages may have several workers: each on the next of `workers`, in
/// order, on a grid (dp = its workers, tp = 1). Layouts on these are data parallel inside a stage, so its
/// workers share each micro-batch out by rows: as fast as in turns, with one row at least for each. Local.
///
///     std::vector<Layout> layouts;
///     for (const Partition& grid : stage_grids(plan, Partition::world()))
///       layouts.push_back(spaces::one_d(grid));
///
/// @throws Error naming both numbers unless the plan has as many workers; naming a stage that lies on several
/// hosts (`StagePlan::Stage::by_level`), whose workers do not follow each other.
std::vector<Partition> stage_grids(const StagePlan& plan, const Partition& workers);

}  // namespace riesz
