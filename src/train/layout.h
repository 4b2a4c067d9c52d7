// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/train/config.h"

namespace riesz {

/// The axes of the grid of a layout, the last the fastest: "dp", "sp", and those that layout.tensor makes of
/// layout.tp workers: "tp" for 1d and sp; "row" and "column", as square as they go, for 2d; "depth", "row"
/// and "column" with rows as columns, as many as they go, for 2.5d; "a", "b" and "c", alike, for 3d.
/// @throws Error naming the keys where they contradict each other, and the tensor layouts that layout.tp
/// workers allow.
std::vector<Axis> layout_axes(const Config::Layout& layout);

}  // namespace riesz
