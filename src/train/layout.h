// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/train/config.h"

namespace riesz {

/// The axes of the grid of a layout, the last the fastest: "dp", "sp", and those that layout.tensor makes of
/// layout.tp workers: "tp" for 1d and sp; "row" and "column", as square as they go, for 2d; "depth", "row"
/// and "column" with rows as columns, as many as they go, for 2.5d; "a", "b" and "c", alike, for 3d.
/// @throws Error naming the keys where they contradict each other, and the `possible_layouts` of dp·sp·tp
/// ranks.
std::vector<Axis> layout_axes(const Config::Layout& layout);

/// All layouts of this tensor and sequence that use as many ranks: dp·sp·tp = ranks, the greatest tp first,
/// then the greatest sp. Left out is what is so by name only, a tensor layout but "1d" of one worker or a
/// sequence shared by one; but on one rank nothing is.
std::vector<Config::Layout> layouts_on(std::int64_t ranks, const std::string& tensor,
                                       const std::string& sequence);

/// For a message: the keys of the first four `layouts_on` of wanted.tensor and wanted.sequence, such as "on 4
/// ranks: layout.dp = 1, layout.tp = 4"; where there is none, the tensor layouts that have one.
std::string possible_layouts(std::int64_t ranks, const Config::Layout& wanted);

}  // namespace riesz
