// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The layer of a convolution. `Convolution` (convolution.h) plans and computes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/module.h"
#include "riesz/nn/spatial/convolution.h"

namespace riesz {

struct ConvOptions {
  ConvWindows windows = {};
  bool bias = true;
  /// First values of the weight. Default: torch's, uniform between ±1/√fan_in. Unlike torch's, the bias
  /// begins with zeros.
  std::optional<Initial> initial = std::nullopt;
};

/// The default space of a convolution's weight, on Y's partition. An axis that shards y's channels shards dim
/// 0. Without groups, another axis that shards x's channels shards dim 1. On all other axes the weight is
/// Replicated. Errors name `spec`. Local.
/// @throws Error unless channels have a known extent and the groups divide them; or where the kernel has
/// neither one number nor one for each spatial dim.
Space conv_weight_between(const std::string& spec, const Space& X, const Space& Y,
                          const std::vector<std::int64_t>& kernel, std::int64_t groups = 1);

/// A convolution over 1 to 3 spatial dims, plus a bias for each output channel: x in X → y in Y. X and Y may
/// be sharded differently; `Convolution` says what moves. Batch and spatial extents may be `Space::any`;
/// channels must be known. The extents of y are torch's. Parameters: weight of (channels out, channels in /
/// groups, kernel), and bias. Cost: that of the `Convolution`; in backward also an AllReduce of the bias's
/// gradient over the axes that shard batch or spatial dims.
class Conv : public Layer<Conv> {
 public:
  /// From X to Y, with the weight stored in conv_weight_between(spec, X, Y, kernel, groups).
  /// @throws Error naming the layer and the numbers where kernel, windows, channels or extents do not fit.
  Conv(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
       const std::vector<std::int64_t>& kernel, const ConvOptions& options = {});
  /// With the weight stored in W.
  Conv(OwnerAndName place, const std::string& spec, const Space& X, const Space& W, const Space& Y,
       const ConvOptions& options = {});

  Vector forward(const Vector& x);
  const Parameter& weight() const { return weight_; }
  /// The convolution of x in X.
  std::shared_ptr<const Convolution> convolution(const Space& X);

  std::string describe() const override;

 private:
  std::string spec_;
  ConvWindows windows_;
  Parameter weight_;
  std::optional<Parameter> bias_;
  detail::PlanCache<Convolution> plans_{4};
};

}  // namespace riesz
