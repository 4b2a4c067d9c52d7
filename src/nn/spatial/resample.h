// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/functions_by_x.h"
#include "riesz/nn/spatial/padding.h"

namespace riesz {

/// How an up-sampling finds an element of y between those of x.
enum class Sampling {
  nearest,         ///< input ⌊j·n/m⌋, exactly
  linear,          ///< between two inputs in each dim, around (j + ½)·n/m − ½; beyond the ends the last
  linear_aligned,  ///< the same around j·(n − 1)/(m − 1): the corners of x and y coincide
};

/// y of Y's extents in space, sampled from x: up or down, by any sizes. Linear up-sampling is
/// torch's "linear", "bilinear" or "trilinear" for 1, 2 or 3 dims. Where an axis shards the space of y, a
/// worker reads what its outputs need of x.
/// @throws Error naming the layer and the extents, when it is made, where they do not fit. Also where Y's
/// space is of any extent.
class Upsample : public Layer<Upsample> {
 public:
  Upsample(OwnerAndName place, const Space& X, const Space& Y, Sampling sampling = Sampling::nearest);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  Sampling sampling_;
  detail::FunctionsByX functions_;
};

/// The extents of S in space times this factor, rounded down: for the Y of an `Upsample`. Other dims, and
/// dims of any extent, stay. Local.
Space enlarged(const Space& S, double factor);

/// y = x with `before` and `after` further elements at the ends of each dim of space, by `mode`. A list has
/// one number for all dims, or one for each. In the mode zeros they are `value`.
class Pad : public Layer<Pad> {
 public:
  /// @throws Error naming the layer and the numbers where they do not fit.
  Pad(OwnerAndName place, const Space& X, const Space& Y, const std::vector<std::int64_t>& before,
      const std::vector<std::int64_t>& after, PaddingMode mode = PaddingMode::zeros, double value = 0);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::vector<std::int64_t> before_, after_;
  PaddingMode mode_;
  double value_;
  detail::FunctionsByX functions_;
};

}  // namespace riesz
