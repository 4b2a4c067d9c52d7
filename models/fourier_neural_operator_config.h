// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/models/images.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// A Fourier neural operator's sizes. The defaults are those of Li et al. for Darcy flow; the model differs
/// from theirs in two points (`FourierNeuralOperator`).
struct FourierNeuralOperatorConfig {
  std::int64_t layers = 4;
  std::int64_t width = 32;                     ///< channels between blocks
  std::vector<std::int64_t> modes = {12, 12};  ///< of rows and of columns (`SpectralConvolution`)
  std::int64_t hidden = 128;                   ///< channels inside of the projection
  std::int64_t size = 85;                      ///< rows and columns of the grid
  std::int64_t inputs = 3;                     ///< channels of the given field and of coordinates
  std::int64_t outputs = 1;
  ContractionOptions contraction = {};  ///< of all point-wise convolutions

  /// Its letters: b batch, h rows and w columns, c and o channels between blocks, f channels inside of the
  /// projection, x channels given and y channels wanted. The channels c and o are sharded as inner widths.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const;
  LinearOptions linear() const { return {.contraction = contraction}; }
};

}  // namespace riesz::models
