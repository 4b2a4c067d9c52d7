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

/// Where x, w and y are computed, as a contraction plans it. But along windowed dims a worker reads x with a
/// halo, as its outputs need it.
struct WindowedPlan {
  Parallel parallel;
  Operator read_x;
  Operator read_w;
  Operator read_y;  ///< of ȳ; the value is written by its adjoint
  std::vector<WindowedDim> dims;
  /// This worker's slabs of each of these dims, by local indices; none outside the partition.
  std::vector<std::vector<Slab>> slabs;

  const Space& x() const { return read_x.range(); }
  const Space& w() const { return read_w.range(); }
  Space y() const { return dual(read_y.range()); }
  /// The adjoint of `read_y`.
  Operator write() const { return adjoint(read_y); }
};

/// Plans a windowed function of x and w on these spaces, which have extents. `indices` has a letter for each
/// dim. A windowed dim of x has the letter of its dim of y. '-' marks a dim of w with no parallel index, such
/// as the kernel's. The rule for the parallel index is the contraction's, with one exception: a second axis
/// on a windowed dim has none, so its workers compute the same. A W of no dims stands for a function without
/// weights.
/// @throws Error beginning with `whose` where extents disagree, or a windowed dim has units other than 1.
WindowedPlan plan_windowed(const std::string& whose, const Indices& indices, const Space& X, const Space& W,
                           const Space& Y, const std::vector<WindowedDim>& dims);

}  // namespace riesz::detail
