// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lines.h"

#include <algorithm>

#include "riesz/partition/intervals/global_intervals.h"

namespace riesz {
namespace {

/// Global elements [begin, begin + size) as lines of the matrices, the first of them at `at`.
void add_lines(std::int64_t at, std::int64_t begin, std::int64_t size, const Matrices& shape,
               std::vector<Line>& result) {
  while (size > 0) {
    const std::int64_t row = begin / shape.columns;
    const std::int64_t column = begin % shape.columns;
    const std::int64_t n = std::min(size, shape.columns - column);
    result.push_back({at, row, row / shape.rows * shape.columns + column, n});
    at += n;
    begin += n;
    size -= n;
  }
}

}  // namespace

Matrices Matrices::of(const std::vector<std::int64_t>& shape) {
  Matrices result;
  const std::size_t dims = shape.size();
  for (std::size_t dim = 0; dim + 2 < dims; ++dim) result.batch *= shape[dim];
  result.rows = shape[dims - 2];
  result.columns = shape[dims - 1];
  return result;
}

std::vector<Line> lines(const Share& share, const Matrices& shape) {
  std::vector<Line> result;
  const Interval mine{share.begin, share.begin + share.value.numel()};
  std::int64_t at = 0;
  for (const Interval& interval : global_intervals(share.parameter.space(), mine)) {
    add_lines(at, interval.begin, interval.size(), shape, result);
    at += interval.size();
  }
  return result;
}

std::vector<LineBlock> blocks(const Share& share, const Matrices& shape) {
  std::vector<LineBlock> result;
  for (const Line& line : lines(share, shape)) {
    if (line.size == 0) continue;
    const bool goes_on = !result.empty() && result.back().columns == line.size &&
                         result.back().column == line.column &&
                         result.back().row + result.back().rows == line.row &&
                         result.back().at + result.back().rows * line.size == line.at;
    if (goes_on)
      ++result.back().rows;
    else
      result.push_back({line.at, line.row, line.column, 1, line.size});
  }
  return result;
}

}  // namespace riesz
