// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// The published shape of a parameter as a batch of matrices in its last two dims, row-major.
struct Matrices {
  std::int64_t batch = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;

  /// The matrices of a shape of at least two dims.
  static Matrices of(const std::vector<std::int64_t>& shape);
};

/// Neighbouring elements of a share that are neighbours in one row of the published shape too.
struct Line {
  std::int64_t at;      ///< where in the share
  std::int64_t row;     ///< of batch·rows
  std::int64_t column;  ///< of batch·columns, of the first
  std::int64_t size;
};

/// Lines of one size that follow each other in the share, and in the rows of one matrix: a part of both.
struct LineBlock {
  std::int64_t at;      ///< where in the share
  std::int64_t row;     ///< of batch·rows, of the first line
  std::int64_t column;  ///< of batch·columns, of the first element
  std::int64_t rows;
  std::int64_t columns;
};

/// All elements of a share, in its order, as lines. They are found from the global indices that this worker
/// holds, so any layout, view and share works. Local; linear in the number of lines.
std::vector<Line> lines(const Share& share, const Matrices& shape);
/// The same as blocks, as few as there can be: one for a whole matrix, three for most flat pieces of one.
std::vector<LineBlock> blocks(const Share& share, const Matrices& shape);

}  // namespace riesz
