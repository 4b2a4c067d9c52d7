// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace riesz::detail {

/// Floats of a row of a panel: the columns of a matrix that lie together.
constexpr std::int64_t kPanel = 32;

/// n rounded up to whole panels.
constexpr std::int64_t in_panels(std::int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }

/// y = x·w, or y + x·w, of small matrices of fp32: x of (rows, depth), w of (depth, columns). Element (i, k)
/// of x is x[i·x_row + k·x_column], so x may be transposed. Rows of w lie a `w_step` apart; from panel to
/// panel of columns it is a `w_panel`.
struct TileProduct {
  const float* x;
  std::int64_t x_row, x_column;
  const float* w;
  std::int64_t w_step, w_panel;
  float* y;
  std::int64_t y_step;
  std::int64_t rows, columns, depth;
  bool adds;
};

/// Computes it in this thread. Each element is a sum in the order of k, whatever the sizes. For
/// products this small, calling LibTorch would cost more than computing.
/// @pre columns is a multiple of 16
void multiply(const TileProduct& of);

/// Writes xᵀ, of a matrix x of (rows, columns) whose rows lie a `step` apart, in panels: columns rows of
/// kPanel floats for each panel of x's rows. The last is filled with 0. It is `w` for w_step = kPanel and
/// w_panel = columns·kPanel.
/// @pre columns is a multiple of 16
void transpose_to_panels(const float* x, std::int64_t step, std::int64_t rows, std::int64_t columns,
                         float* panels);

}  // namespace riesz::detail
