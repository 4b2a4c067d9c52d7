// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Which workers to look among, on one axis: one coordinate, or all; on an axis that shards a dim `kAll`
/// means those that hold some of what is wanted.
inline constexpr int kAll = -1;

/// The ranks of S's partition with these coordinates (one entry an axis) that hold some of `wanted`, in rank
/// order. Found dim by dim, so in time that grows with the extents of the axes (on those that shard evenly,
/// with the number found), not with the number of workers.
std::vector<int> holders(const Space& S, const Boxes& wanted, const std::vector<int>& coordinates);

}  // namespace riesz
