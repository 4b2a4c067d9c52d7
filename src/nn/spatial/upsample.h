// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/cached_function.h"

namespace riesz {

/// How an up-sampling finds an element of y between those of x.
enum class Sampling {
  nearest,         ///< input ⌊j·n/m⌋, exactly
  linear,          ///< between two inputs in each dim, around (j + ½)·n/m − ½; beyond the ends the last
  linear_aligned,  ///< the same around j·(n − 1)/(m − 1): the corners of x and y coincide
};

/// y of Y's spatial extents, sampled from x: up or down, by any sizes. Linear up-sampling is torch's
/// "linear", "bilinear" or "trilinear" for 1, 2 or 3 dims. Cost, where an axis shards a spatial dim: a worker
/// receives the inputs that its outputs read beyond its own, in one round (Halo). Backward sends the same
/// elements back (HaloSum).
/// @throws Error naming the layer and the extents, when it is made, where they do not fit; or where Y's
/// spatial extents are not known.
class Upsample : public Layer<Upsample> {
 public:
  Upsample(OwnerAndName place, const Space& X, const Space& Y, Sampling sampling = Sampling::nearest);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  Sampling sampling_;
  detail::CachedFunction functions_;
};

/// S with its spatial extents times `factor`, rounded down: for the Y of an `Upsample`. Other dims, and dims
/// of any extent, stay. Local.
Space resampled(const Space& S, double factor);

}  // namespace riesz
