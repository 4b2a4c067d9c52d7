// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/spatial/reading.h"
#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// A dim of x, and the dim of y with the same letter, whose outputs read other inputs than their own.
struct WindowedDim {
  int x;
  int y;
  DimReading reading;
};

/// How the operands of a windowed form are brought to where it is computed: as those of a contraction, with
/// one difference. Where the parallel index is that of a windowed dim, x is read with a halo, as a worker's
/// outputs need it.
struct WindowedPlan {
  Parallel parallel;
  Operator read_x;
  Operator read_w;
  Operator read_y;  ///< of ȳ; the value is written by its adjoint
  std::vector<WindowedDim> dims;
  /// This worker's pieces of each of these dims, by local indices; none outside the partition.
  std::vector<std::vector<Piece>> pieces;

  const Space& x() const { return read_x.range(); }
  const Space& w() const { return read_w.range(); }
  Space y() const { return dual(read_y.range()); }
  /// The adjoint of `read_y`.
  Operator write() const { return adjoint(read_y); }
};

/// Plans the form on these spaces, which have extents. `indices` has a letter for each dim. A windowed
/// dim of x has the letter of its dim of y. The letter '-' is a dim of w that no axis computes apart, such as
/// a kernel's. The rule for the parallel index is the contraction's, with one exception. A second axis on a
/// windowed dim has none, so its workers compute the same. A W of no dims stands for a form without weights.
/// @throws Error on behalf of `whose` where extents or units disagree.
WindowedPlan plan_windowed(const std::string& whose, const Indices& indices, const Space& X, const Space& W,
                           const Space& Y, const std::vector<WindowedDim>& dims);

}  // namespace riesz::detail
