// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/cached_function.h"
#include "riesz/nn/spatial/norm_parameters.h"

namespace riesz {

/// Group norm (Wu and He, 1803.08494) of x (batch, channels, spatial dims) in X, to y in X:
///
///     y = (x − mean)/√(variance + ε)·weight + bias     with moments per image and group
///
/// A group is channels/groups consecutive channels. First the mean, then the mean squared deviation, each
/// over all workers and in at least fp32. Parameters: weight and bias, an element per channel, sharded as the
/// channels. There are no running moments.
///
/// Cost, where axes shard channels or spatial dims: two AllReduces of one element per image and group, and
/// two in backward. Where axes shard batch or spatial dims: two more in backward, of one element per channel,
/// for the gradients of weight and bias.
class GroupNorm : public Layer<GroupNorm> {
 public:
  /// @throws Error naming the layer and X unless the channels are known, and none is Partial or Copied; or
  /// unless the groups divide the channels.
  GroupNorm(OwnerAndName place, std::int64_t groups, const Space& X, double epsilon = 1e-5,
            bool affine = true);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::string named_;  // in errors
  std::int64_t groups_;
  double epsilon_;
  detail::CachedFunction sums_, spread_;
  detail::NormParameters parameters_;
};

}  // namespace riesz
