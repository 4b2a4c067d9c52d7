// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/comm/trace/trace.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// A table of where the time of `steps` steps went, of a rank in one step on average: the operators by time,
/// with how often they ran and what they sent, and the time in which a thread of the program waited. On every
/// rank. Collective over the partition.
std::string profile_table(const Partition& partition, const TraceLog& mine, std::int64_t steps);

}  // namespace riesz
