// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/comm/trace/trace.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Returns a table of the average step of a rank: operators by time, calls and bytes, then time waited. Waits
/// of Riesz's own threads do not count. `steps`: how many the trace has. On every rank. Collective over the
/// partition.
std::string profile_table(const Partition& partition, const TraceLog& mine, std::int64_t steps);

}  // namespace riesz
