// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Stands for all coordinates of an axis; on an axis that shards a dim, for those that hold some of what is
/// wanted.
inline constexpr int kAll = -1;

/// The ranks of S's partition at these coordinates (one entry an axis) that hold some of `wanted`, in rank
/// order. They are found dim by dim. The time grows with the extents of the axes, on evenly sharded axes with
/// the number found, and not with the number of workers.
std::vector<int> holders(const Space& S, const Boxes& wanted, const std::vector<int>& coordinates);

}  // namespace riesz
