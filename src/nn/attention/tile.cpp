// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/tile.h"

#include <algorithm>

namespace riesz::detail {
namespace {

constexpr std::int64_t kLeastRows = 64;  // below, a tile takes longer to start than to compute

/// Runs of rows so short that with the window before them they are not mostly hidden.
Intervals within_reach(const Intervals& rows, const Visibility& visibility) {
  if (!visibility.causal || !visibility.window) return rows;
  const std::int64_t length = std::max(*visibility.window, kLeastRows);
  Intervals runs;
  for (const Interval& run : rows) {
    for (std::int64_t begin = run.begin; begin < run.end; begin += length)
      runs.push_back({begin, std::min(begin + length, run.end)});
  }
  return runs;
}

}  // namespace

std::vector<Tile> tiles(const Intervals& rows, const Intervals& columns, const Visibility& visibility,
                        bool apart) {
  if (total(rows) == 0 || total(columns) == 0) return {};
  if (!visibility.causal && !apart) return {{{0, total(rows)}, {0, total(columns)}, rows, columns}};
  std::vector<Tile> all;
  std::int64_t row = 0;
  for (const Interval& i : within_reach(rows, visibility)) {
    std::int64_t column = 0;
    for (const Interval& j : columns) {
      const Interval seen = visibility.seen(i, j);
      const std::int64_t first = column + seen.begin - j.begin;
      if (i.size() > 0 && seen.size() > 0) {
        all.push_back({{row, row + i.size()},
                       {first, first + seen.size()},
                       {i},
                       {seen},
                       visibility.all_seen(i, seen),
                       visibility.corner(i, seen)});
      }
      column += j.size();
    }
    row += i.size();
  }
  return all;
}

}  // namespace riesz::detail
