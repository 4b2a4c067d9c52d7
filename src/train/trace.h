// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// Timelines of all workers of a grid whose axis "pp" has the pipeline's workers: each one's row, from the
/// first of its ranks, in seconds from the first start of all. `mine`: of this rank, by the steady clock of
/// its host, which its ranks share; clocks of several hosts are compared at one barrier. On rank 0; elsewhere
/// empty. Collective over the grid.
Timeline collect_timeline(const Partition& job, const std::vector<Timed>& mine);

/// Writes timeline.svg and timeline.json into the folder, which it makes. Local.
/// @throws Error naming the folder.
void write_timeline(const std::string& folder, const Timeline& timeline, const std::string& title);

}  // namespace riesz
