// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::app {

/// By axis of a grid and coordinate on it: a number that differs where a worker there has other pieces than
/// at another coordinate. The worker is like this one on all other axes.
using Pieces = std::vector<std::vector<std::uint64_t>>;

/// The pieces of vectors of these spaces, on the grids of a job's stages. Local.
Pieces pieces_of(const std::vector<Space>& spaces, const Partition& job);

}  // namespace riesz::app
