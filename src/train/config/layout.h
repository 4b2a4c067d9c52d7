// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/layout/layout.h"
#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// The axes of a stage's grid, the last the fastest: "dp", "ep", "height" and "width", "sp", and those of
/// layout.tp workers. "ep" is there where layout.ep is above 1, "height" and "width" where layout.space has
/// several workers. layout.tensor names the axes of tp:
///
///     1d, sp     "tp"
///     2d         "row" and "column", as square as possible
///     2.5d       "depth", "row" and "column": as many rows as columns, and as many of these as possible
///     3d         "a", "b" and "c", of equal size
///
/// Where layout.experts is "tp", "ep" comes last, so that it is a part of the axis tp.
/// @throws Error naming the settings where they contradict each other. It also names the `possible_layouts`
/// of pp·dp·ep·space·sp·tp ranks.
std::vector<Axis> layout_axes(const Config::Layout& layout);

/// The axes of the job's grid: those of a stage's, and before them "pp" where layout.pp is above 1.
std::vector<Axis> job_axes(const Config::Layout& layout);

/// The axes of the grid along which workers have other tokens or pixels: dp, ep, height, width and sp. ep is
/// not among them where layout.experts is "tp". Gradients are summed over these axes, and ZeRO shards state
/// over them. For the weights of experts this leaves out ep, which shards them.
std::vector<std::string> token_axes(const Config::Layout& layout, const Partition& mesh);

/// The workers that share an image: the product of layout.space. std::nullopt where there are more than
/// `most`.
std::optional<std::int64_t> space_size(const Config::Layout& layout, std::int64_t most);

/// The workers of a layout, pp·dp·ep·space·sp·tp, or nothing where there are more than `most`.
std::optional<std::int64_t> job_size(const Config::Layout& layout, std::int64_t most);

/// How any model lies on a stage's workers, whose grid has the `layout_axes`.
Layout layout_on(const Config::Layout& layout, const Partition& stage);

/// All layouts of these kinds, layout.tensor and layout.sequence, with dp·sp·tp = ranks: the greatest tp
/// first, then the greatest sp. On several ranks it leaves out layouts in which the kind has no effect. These
/// have tp = 1 and another tensor layout than "1d", or sp = 1 and a sharded sequence.
std::vector<Config::Layout> layouts_on(std::int64_t ranks, const std::string& tensor,
                                       const std::string& sequence);

/// For a message: "layout.dp x layout.sp x layout.tp = 2 x 1 x 2", with layout.pp, layout.ep and layout.space
/// where they are above 1.
std::string product_of(const Config::Layout& layout);

/// For a message: the first four `layouts_on` of wanted.tensor and wanted.sequence, with wanted.pp and
/// wanted.ep. An example is "on 4 ranks: layout.dp = 1, layout.tp = 4". Where there is none, it names the
/// tensor layouts that have one. Where layout.pp does not divide the ranks, or layout.ep those of a stage, it
/// names the values that do.
std::string possible_layouts(std::int64_t ranks, const Config::Layout& wanted);

}  // namespace riesz
