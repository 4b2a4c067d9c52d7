// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/norm_parameters.h"

namespace riesz {

struct InstanceNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;       ///< share of the new moments in the running ones
  bool affine = false;         ///< are there weight and bias?
  bool running_stats = false;  ///< false: evaluation too uses the moments of each image
};

/// Instance norm (Ulyanov et al., 1607.08022) of x (batch, channels, spatial dims) in X, to y in X:
///
///     y = (x − mean)/√(variance + ε)·weight + bias     with moments per image and channel
///
/// First the mean, then the mean squared deviation, each over all workers and in at least fp32. Running
/// moments, if asked for, are BatchNorm's: training moves them by `momentum` towards the means over images of
/// the images' moments, and evaluation uses them. num_batches_tracked stays 0, as torch's. Parameters have an
/// element per channel, sharded as the channels.
///
/// Cost, where axes shard spatial dims: two AllReduces of one element per image and channel, and two in
/// backward. With affine, where axes shard batch or spatial dims: two more in backward, of one element per
/// channel. In training with running moments, where axes shard the batch: two more of one element per
/// channel.
class InstanceNorm : public Layer<InstanceNorm> {
 public:
  /// @throws Error naming the layer and X unless the channels are known, and none is Partial or Copied.
  InstanceNorm(OwnerAndName place, const Space& X, const InstanceNormOptions& options = {});

  /// @throws Error where it takes moments and a channel of an image has one element; or without a context
  /// where there are running moments.
  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  void track(const Vector& mean, const Vector& variance, std::int64_t elements);

  std::string named_;  // in errors
  InstanceNormOptions options_;
  detail::NormParameters parameters_;
};

}  // namespace riesz
