// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/partition.h"

namespace riesz {

/// An identity of the steady clock that this process reads: one for all processes of a host.
std::string clock_identity();

/// By rank, the nanoseconds by which a rank's steady clock is ahead of rank 0's; given on rank 0, empty
/// elsewhere. Ranks with rank 0's `identity` read its clock; their offset is 0. For each other clock its
/// first rank answers rank 0 some times; the quickest answer is taken to lie in the middle of its round trip,
/// so the error is at most half of that. Collective over the partition; not counted.
std::vector<std::int64_t> clock_offsets(const Partition& partition, const std::string& identity);

}  // namespace riesz
