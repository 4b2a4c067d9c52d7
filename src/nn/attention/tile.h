// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/nn/attention/visibility.h"

namespace riesz::detail {

/// A part of the scores q·kᵀ that is computed as one: rows of q and columns of k, local to who holds them,
/// and where they are globally.
struct Tile {
  Interval rows;
  Interval columns;
  Intervals row_positions;
  Intervals column_positions;
  bool whole = true;    ///< each row sees all columns
  bool corner = false;  ///< row r sees the columns up to number r
};

/// The tiles of who has q's positions `rows` and k's `columns`. Causal: one for an interval of each, as far
/// as the rows see the columns, without those that are hidden wholly. Where there are many more rows than the
/// window, one for each run of the window's length. Else one in all, or, `apart`, one for an interval of each
/// as well.
std::vector<Tile> tiles(const Intervals& rows, const Intervals& columns, const Visibility& visibility,
                        bool apart);

}  // namespace riesz::detail
