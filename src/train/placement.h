// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/layout/layout.h"
#include "riesz/pipeline/partitioner/stage_plan.h"
#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/train/config.h"

namespace riesz {

// What a configuration says of a pipeline, where layout.pp is above 1. All of it is local, and the same on
// all workers.

/// @throws Error naming keys, their values and what fits, where the schedule does not go with the chunks or
/// the micro-batches, or the batch has fewer sequences than there are micro-batches.
void check_pipeline(const Config& config);

/// Parts of the batch that go through the pipeline together.
std::int64_t pipeline_micro_batches(const Config& config);

/// The table. @throws Error as its maker does.
Schedule pipeline_schedule(const Config& config);

/// Does its partitioner need to know how long modules take (`measured`)?
bool measures_time(const Config& config);

/// Which modules of a model of these costs each stage has. @throws Error naming keys and the blocks where
/// these are fewer than the stages; as the partitioner does.
StagePlan plan_stages(const Config& config, const CostTree& tree);

/// Of a model on the job's grid: of one place, or with each stage where its worker of the table lies, by
/// this placement.
Layout layout_of(const Config& config, const Partition& job, const ModuleStages& placement);

}  // namespace riesz
