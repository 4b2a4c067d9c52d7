// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/layout/layout.h"
#include "riesz/pipeline/partitioner/stage_plan.h"
#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/train/config/config.h"

namespace riesz {

// A configuration's pipeline, where layout.pp is above 1. All of it is local, and the same on all workers.

/// @throws Error naming keys, their values and what fits, where the schedule does not fit the chunks or the
/// micro-batches. Also where the batch has fewer sequences than micro-batches.
void check_pipeline(const Config& config);

/// The parts of a batch, train.micro_batches: one after another, and in a pipeline all under way together.
std::int64_t micro_batches_of(const Config& config);

/// The schedule, as a table. @throws Error as its maker does.
Schedule pipeline_schedule(const Config& config);

/// Does its partitioner need to know how long modules take (`measured`)?
bool measures_time(const Config& config);

/// The modules of each stage, for a model of these costs. @throws Error naming the keys and the blocks where
/// there are fewer blocks than stages; also as the partitioner does.
StagePlan plan_stages(const Config& config, const CostTree& tree);

/// The layout of a model on the job's grid. With a pipeline each stage has the modules that `placement` says.
/// It lies on the slice of the axis "pp" to which the schedule gives it.
Layout layout_of(const Config& config, const Partition& job, const ModuleStages& placement);

}  // namespace riesz
