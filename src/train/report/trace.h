// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// Collects the timelines of all workers of a pipeline, which lie along the grid's axis "pp". Each worker
/// gives that of its first rank, in seconds since the first action of all. `mine`: this rank's, by the steady
/// clock of its host; the clocks of several hosts are compared at one barrier. The result is on rank 0, and
/// empty elsewhere. Collective over the grid.
Timeline collect_timeline(const Partition& job, const std::vector<Timed>& mine);

/// Writes timeline.svg and timeline.json into the folder, which it makes. Local.
/// @throws Error naming the folder.
void write_timeline(const std::string& folder, const Timeline& timeline, const std::string& title);

}  // namespace riesz
