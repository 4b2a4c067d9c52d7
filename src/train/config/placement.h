// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/layout/layout.h"
#include "riesz/pipeline/partitioner/stage_plan.h"
#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/train/config/config.h"

namespace riesz {

// What a configuration says of a pipeline, where layout.pp is above 1. All of it is local, and the same on
// all workers.

/// @throws Error naming keys, their values and what fits, where the schedule does not go with the chunks or
/// the micro-batches, or the batch has fewer sequences than there are micro-batches.
void check_pipeline(const Config& config);

/// The micro-batches that are in the pipeline together; 1 without a pipeline.
std::int64_t pipeline_micro_batches(const Config& config);

/// The schedule, as a table. @throws Error as its maker does.
Schedule pipeline_schedule(const Config& config);

/// Does its partitioner need to know how long modules take (`measured`)?
bool measures_time(const Config& config);

/// Which modules each stage has, of a model of these costs. @throws Error naming the keys and the blocks
/// where there are fewer blocks than stages; as the partitioner does.
StagePlan plan_stages(const Config& config, const CostTree& tree);

/// The layout of a model on the job's grid. With a pipeline each stage lies on the slice of the axis "pp"
/// that the schedule gives it to, and has the modules that `placement` says.
Layout layout_of(const Config& config, const Partition& job, const ModuleStages& placement);

}  // namespace riesz
