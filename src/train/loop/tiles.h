// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A dim of space in tiles that cover it, and of each the window that a model reads to predict it: the tile
/// and a halo around it. All windows have the same extent and lie within the dim. Where one would reach
/// beyond an end, it ends there, and reaches further on its other side.
struct TiledDim {
  std::vector<Interval> tiles;
  std::vector<Interval> windows;
};

/// Windows of `window` elements. One that is the whole dim has no halo.
/// @throws Error unless extent and window are multiples of `unit`, and a window is the whole dim or leaves a
/// tile beside two halos. @pre halo is a multiple of unit
TiledDim tiled(std::int64_t extent, std::int64_t window, std::int64_t halo, std::int64_t unit);

/// A tile of some image of a row of data.
struct Tile {
  std::int64_t row = 0;
  Box tile;    ///< rows and columns that are predicted
  Box window;  ///< those that the model reads
};

/// All tiles of so many images, row by row.
std::vector<Tile> tiles_of(std::int64_t images, const TiledDim& height, const TiledDim& width);

}  // namespace riesz
