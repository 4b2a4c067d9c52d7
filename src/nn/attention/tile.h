// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/nn/attention/visibility.h"

namespace riesz::detail {

/// A part of the scores q·kᵀ that is computed at once: rows of q and columns of k, by local index and by
/// global position.
struct Tile {
  Interval rows;
  Interval columns;
  Intervals row_positions;
  Intervals column_positions;
  bool whole = true;    ///< each row sees all columns
  bool corner = false;  ///< row r sees the columns up to number r
};

/// The tiles of a worker that has q's positions `rows` and k's `columns`. Causal: one tile for each pair of
/// intervals, cut to the columns that the rows see; wholly hidden tiles are left out. Where there are many
/// more rows than the window, there is one for each run of the window's length. Not causal: one tile in all,
/// or with `apart` one for each pair of intervals.
std::vector<Tile> tiles(const Intervals& rows, const Intervals& columns, const Visibility& visibility,
                        bool apart);

}  // namespace riesz::detail
