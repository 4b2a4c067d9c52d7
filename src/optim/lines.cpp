// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lines.h"

#include <algorithm>

namespace riesz {
namespace {

/// Where the elements of one worker's part lie in the whole, in terms of the space's own dims.
struct Held {
  std::vector<std::vector<std::int64_t>> offsets;  ///< by dim but the last: of each local index, in elements
  Intervals last;                                  ///< of the last dim
};

Held held_by(const Space& X, int rank) {
  const Boxes boxes = X.boxes(rank);
  Held held;
  std::int64_t stride = X.numel();
  for (std::size_t dim = 0; dim + 1 < boxes.size(); ++dim) {
    stride /= X.shape()[dim];
    std::vector<std::int64_t>& offsets = held.offsets.emplace_back();
    for (const Interval& interval : boxes[dim]) {
      for (std::int64_t i = interval.begin; i < interval.end; ++i) offsets.push_back(i * stride);
    }
  }
  held.last = boxes.empty() ? Intervals{{0, 1}} : boxes.back();
  return held;
}

/// Where the local line of this number begins in the whole.
std::int64_t begin_of(const Held& held, std::int64_t line) {
  std::int64_t begin = 0;
  for (std::size_t dim = held.offsets.size(); dim-- > 0;) {
    const auto size = static_cast<std::int64_t>(held.offsets[dim].size());
    begin += held.offsets[dim][static_cast<std::size_t>(line % size)];
    line /= size;
  }
  return begin;
}

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
  const std::int64_t end = share.begin + share.value.numel();
  if (share.begin == end) return result;
  const Space& X = share.parameter.space();
  const Held held = held_by(X, X.partition().rank());
  const std::int64_t width = total(held.last);
  for (std::int64_t local = share.begin; local < end;) {
    const std::int64_t global = begin_of(held, local / width);
    std::int64_t from = local / width * width;  // local index of the interval's first element
    for (const Interval& interval : held.last) {
      const std::int64_t a = std::max(local, from);
      const std::int64_t b = std::min(end, from + interval.size());
      if (a < b) add_lines(a - share.begin, global + interval.begin + a - from, b - a, shape, result);
      from += interval.size();
    }
    local = from;
  }
  return result;
}

}  // namespace riesz
