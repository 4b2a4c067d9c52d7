// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "riesz/nn/local/local_function.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/windowed_plan.h"

namespace riesz::detail {

/// A convolution that computes its edges apart. It is the same function as the plan's, where one spatial dim
/// is cut. A worker convolves its own rows between zeros, as if there were no neighbours. Then it adds what
/// the neighbours' rows give to its first and last outputs. So x is neither copied nor kept with its halo.
/// The same rows travel.
class EdgeConvolution {
 public:
  /// std::nullopt unless x and y are cut alike along one spatial dim, where the window has stride 1,
  /// dilation 1 and as much zero padding as keeps the extent. Each worker must hold 16 rows for each row of
  /// its halo, for with fewer it does not pay. Nothing else of x or w may move.
  static std::optional<EdgeConvolution> planned(const std::string& whose, const ConvGeometry& geometry,
                                                const Space& X, const Space& W, const Space& Y,
                                                const WindowedPlan& plan);

  /// Half types are summed in fp32 and rounded once, so they are not computed in two parts.
  static bool takes(const at::Tensor& x) {
    return x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  }
  Vector operator()(const Vector& x, const Vector& w) const;

 private:
  struct Edges {
    int dim;
    std::int64_t width;  ///< rows of a halo
  };

  EdgeConvolution(Edges edges, Space rows, LocalFunction value)
      : edges_(edges), rows_(std::move(rows)), value_(std::move(value)) {}

  Edges edges_;
  Space rows_;           // of all workers' first and last rows
  LocalFunction value_;  // of x, those rows, and w
};

}  // namespace riesz::detail
