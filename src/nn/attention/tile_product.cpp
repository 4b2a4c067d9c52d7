// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/tile_product.h"

#include <algorithm>

#include "riesz/nn/kernels/rows.h"
#include "riesz/nn/vectors/lanes.h"

namespace riesz::detail {
namespace {

/// `rows` × `vectors` sums, all in registers.
template <typename Vector, int rows, int vectors>
RIESZ_ROW void multiply_part(const TileProduct& of, std::int64_t row, std::int64_t column) {
  constexpr std::int64_t kStep = kLanesOf<Vector>;
  const float* x = of.x + row * of.x_row;
  const float* w = of.w + column / kPanel * of.w_panel + column % kPanel;
  float* y = of.y + row * of.y_step + column;
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < vectors; ++j) {
      if (of.adds)
        load(y + i * of.y_step + j * kStep, sums[i][j]);
      else
        sums[i][j] = Vector{};
    }
  }
  for (std::int64_t k = 0; k < of.depth; ++k, x += of.x_column, w += of.w_step) {
    Vector right[vectors];
#pragma GCC unroll 2
    for (int j = 0; j < vectors; ++j) load(w + j * kStep, right[j]);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const float left = x[i * of.x_row];
#pragma GCC unroll 2
      for (int j = 0; j < vectors; ++j) sums[i][j] += right[j] * left;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < vectors; ++j) store(sums[i][j], y + i * of.y_step + j * kStep);
  }
}

template <typename Vector, int rows, int vectors>
RIESZ_ROW void multiply_columns(const TileProduct& of, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + rows <= of.rows; row += rows) multiply_part<Vector, rows, vectors>(of, row, column);
  for (; row + 2 <= of.rows; row += 2) multiply_part<Vector, 2, vectors>(of, row, column);
  if (row < of.rows) multiply_part<Vector, 1, vectors>(of, row, column);
}

/// Some of the depth at once: these rows of w stay in the nearest cache for all rows of x.
template <typename Vector, int rows>
RIESZ_ROW void multiply_all(const TileProduct& of) {
  constexpr std::int64_t kStep = kLanesOf<Vector>, kDepth = 128;
  for (std::int64_t begin = 0; begin < of.depth; begin += kDepth) {
    TileProduct some = of;
    some.depth = std::min(kDepth, of.depth - begin);
    some.x += begin * of.x_column, some.w += begin * of.w_step;
    some.adds = of.adds || begin > 0;
    std::int64_t column = 0;
    for (; column + 2 * kStep <= of.columns; column += 2 * kStep)
      multiply_columns<Vector, rows, 2>(some, column);
    if (column < of.columns) multiply_columns<Vector, rows, 1>(some, column);
  }
}

void multiply_plainly(const TileProduct& of) { multiply_all<HalfLanes, 2>(of); }
RIESZ_FOR_AVX2 void multiply_by_avx2(const TileProduct& of) { multiply_all<HalfLanes, 6>(of); }
RIESZ_FOR_AVX512 void multiply_by_avx512(const TileProduct& of) { multiply_all<Lanes, 8>(of); }

RIESZ_ROW void interleave(const HalfLanes& a, const HalfLanes& b, HalfLanes& low, HalfLanes& high) {
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
RIESZ_ROW void interleave(const Lanes& a, const Lanes& b, Lanes& low, Lanes& high) {
  low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Row i of the second half is put behind row i of the first, element by element: so often as a number of
/// rows can be halved, that is the transposed matrix.
template <typename Vector>
RIESZ_ROW void transpose(Vector (&rows)[kLanesOf<Vector>]) {
  constexpr int kRows = kLanesOf<Vector>;
#pragma GCC unroll 4
  for (int left = kRows; left > 1; left /= 2) {
    Vector turned[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows / 2; ++i)
      interleave(rows[i], rows[i + kRows / 2], turned[2 * i], turned[2 * i + 1]);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) rows[i] = turned[i];
  }
}

struct Panels {
  const float* x;
  std::int64_t step, rows, columns;
  float* panels;
};

template <typename Vector>
RIESZ_ROW void transpose_all(const Panels& of) {
  constexpr std::int64_t kSide = kLanesOf<Vector>;
  for (std::int64_t row = 0; row < in_panels(of.rows); row += kSide) {
    float* to = of.panels + row / kPanel * of.columns * kPanel + row % kPanel;
    const std::int64_t held = std::clamp<std::int64_t>(of.rows - row, 0, kSide);
    for (std::int64_t column = 0; column < of.columns; column += kSide) {
      const float* from = of.x + row * of.step + column;
      Vector part[kSide];
      if (held == kSide) {
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kSide; ++i) load(from + i * of.step, part[i]);
      } else {
        for (std::int64_t i = 0; i < kSide; ++i) part[i] = Vector{};
        for (std::int64_t i = 0; i < held; ++i) load(from + i * of.step, part[i]);
      }
      transpose(part);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kSide; ++i) store(part[i], to + (column + i) * kPanel);
    }
  }
}

void transpose_plainly(const Panels& of) { transpose_all<HalfLanes>(of); }
RIESZ_FOR_AVX2 void transpose_by_avx2(const Panels& of) { transpose_all<HalfLanes>(of); }
RIESZ_FOR_AVX512 void transpose_by_avx512(const Panels& of) { transpose_all<Lanes>(of); }

}  // namespace

void multiply(const TileProduct& of) {
  static const auto kernel = for_this_processor(multiply_plainly, multiply_by_avx2, multiply_by_avx512);
  kernel(of);
}

void transpose_to_panels(const float* x, std::int64_t step, std::int64_t rows, std::int64_t columns,
                         float* panels) {
  static const auto kernel = for_this_processor(transpose_plainly, transpose_by_avx2, transpose_by_avx512);
  kernel({x, step, rows, columns, panels});
}

}  // namespace riesz::detail
