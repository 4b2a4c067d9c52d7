// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/module.h"
#include "riesz/nn/spatial/fourier.h"

namespace riesz {

/// The spectral convolution of a Fourier neural operator (Li et al., 2010.08895), over 1 to 3 spatial dims:
///
///     y = F⁻¹ z        z[b, o, k] = Σ_c (F x)[b, c, k]·w[o, c, k]        for kept k, else 0
///
/// F is the real transform over the spatial dims. With m modes the last dim keeps k = 0 … m − 1, and each
/// other dim keeps k = −m … m − 1. `modes` has one number for all spatial dims, or one for each. x in X and y
/// in Y, of (batch, channels, spatial dims), are sharded in any way. Batch and spatial extents may be
/// `Space::any`.
///
/// Parameter: weight of (channels out, channels in, kept frequencies, 2), real and imaginary parts. Its
/// channels are sharded as a convolution's. Its frequencies are sharded by the axes that shard the same dims
/// of x, as those of F x are. So on these axes neither the weight nor its gradient moves. First values:
/// uniform from 0 to 1/(channels in · channels out), as Li's.
///
/// Cost: the traffic of the transforms and of the contraction over channels. A transform sends back kept
/// frequencies alone.
/// @throws Error naming the layer and the numbers, when it is made, where they do not fit.
class SpectralConvolution : public Layer<SpectralConvolution> {
 public:
  SpectralConvolution(OwnerAndName place, const Space& X, const Space& Y,
                      const std::vector<std::int64_t>& modes);

  /// @throws Error naming the dim where x has less than 2·modes elements in it, or 2·(modes − 1) in the last.
  Vector forward(const Vector& x);
  const Parameter& weight() const { return weight_; }

  std::string describe() const override;

 private:
  struct Plan;

  Plan planned(const Space& X) const;

  std::vector<std::int64_t> modes_, frequencies_;
  Parameter weight_;
  detail::PlanCache<Plan> plans_{4};
};

}  // namespace riesz
