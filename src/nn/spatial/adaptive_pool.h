// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/cached_function.h"

namespace riesz {

// Poolings to the spatial extents of Y, which must be known. Along a dim, output j of m has the window of
// inputs ⌊j·n/m⌋ … ⌈(j + 1)·n/m⌉ − 1 of n. Cost and sharding: as in pool.h.
// @throws Error naming the layer and the numbers, when it is made, where they do not fit.

/// y = the mean of each window.
class AdaptiveAvgPool : public Layer<AdaptiveAvgPool> {
 public:
  AdaptiveAvgPool(OwnerAndName place, const Space& X, const Space& Y);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  detail::CachedFunction values_;
};

/// y = the greatest element of each window, NaN where one is NaN. The gradient goes to the first of several
/// greatest ones in row-major order, also where they lie on several workers.
class AdaptiveMaxPool : public Layer<AdaptiveMaxPool> {
 public:
  AdaptiveMaxPool(OwnerAndName place, const Space& X, const Space& Y);

  Vector forward(const Vector& x);
  /// The places in x of y's elements, as torch's return_indices; the first of several NaN in a window.
  /// Integers; collective likewise.
  Vector indices(const Vector& x);

  std::string describe() const override;

 private:
  detail::CachedFunction values_, indices_;
};

}  // namespace riesz
