// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Given to `holders` as a coordinate, it stands for any coordinate of that axis. If the axis shards a dim,
/// only the coordinates count that hold some of what is wanted.
inline constexpr int kAll = -1;

/// The ranks of S's partition at these coordinates (one entry an axis) that hold some of `wanted`, in rank
/// order. They are found dim by dim. The time grows with the extents of the axes, not with the number of
/// workers. On an evenly sharded axis it grows only with the number found.
std::vector<int> holders(const Space& S, const Boxes& wanted, const std::vector<int>& coordinates);

}  // namespace riesz
