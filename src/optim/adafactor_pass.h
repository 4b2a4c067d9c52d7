// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/optim/lines.h"

namespace riesz {

/// A step of Adafactor by element: u = g/√max(V, ε₁²). For a parameter of two or more dims V is
/// R·Cᵀ/mean R; for others V is kept.
/// Flat tensors of one type, on the host.
struct AdafactorElements {
  at::Tensor value;
  at::Tensor gradient;
  at::Tensor variance;      ///< V where it is kept; else undefined, and what follows is given
  std::vector<Line> lines;  ///< the elements as lines of the matrices
  at::Tensor rows;          ///< R over its mean in each matrix
  at::Tensor columns;       ///< C
  double epsilon;           ///< ε₁
};

/// Adds Σ g² of each row and column, in fp64, in one pass.
void adafactor_add_squares(const at::Tensor& gradient, const std::vector<Line>& lines, double* rows,
                           double* columns);

/// Σ u² in fp64, in one pass that reads g. Its order depends on the size and the lines alone, and an
/// element's bits on the element, its row and its column.
double adafactor_squares(const AdafactorElements& of);

/// w ← keep·w − step·u, in one pass.
void adafactor_apply(const AdafactorElements& of, double keep, double step);

}  // namespace riesz
