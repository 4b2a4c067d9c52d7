// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/functions_by_x.h"

namespace riesz {

// Norms of images: x of (batch, channels, space) lies in X, Sharded in any way or Replicated on each axis,
// and so does y. Moments are taken in two passes, over the elements of all workers that share them, in at
// least fp32. Parameters have an element a channel, and lie as the channels do. @throws Error naming the
// layer and the space, when it is made, unless channels have a known extent; or if x is Partial or Copied on
// an axis.

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// Share of the new moments in the running ones. std::nullopt: the means of all batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;         ///< are there weight and bias?
  bool running_stats = true;  ///< false: evaluation too uses the moments of its batch
};

/// y = (x − mean)/√(variance + ε)·weight + bias for each channel (Ioffe and Szegedy, 1502.03167). In training
/// (`Context::training`) the moments are those of the call's batch, over all workers. Then the running
/// moments move towards them by `momentum`. The running variance is unbiased, times n/(n − 1), as torch's.
/// Outside of training the running moments are used. They are parameters that are not trained: running_mean,
/// running_var, and num_batches_tracked, an integer that counts the batches. So they are in checkpoints under
/// torch's names. A region that runs again in backward does not move them. Cost in training, where axes shard
/// batch or space: two AllReduces of one element per channel, and three in backward.
class BatchNorm : public Layer<BatchNorm> {
 public:
  BatchNorm(OwnerAndName place, const Space& X, const BatchNormOptions& options = {});

  /// @throws Error without a context; or where it takes the moments of a batch with one element a channel.
  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  void track(const Vector& mean, const Vector& variance, std::int64_t elements);

  std::string named_;  // in errors
  BatchNormOptions options_;
  std::optional<Parameter> weight_, bias_, mean_, variance_, batches_;
};

/// The same for each image and each of `groups` runs of channels (Wu and He, 1803.08494). It keeps no running
/// moments. Cost, where axes shard channels or space: two AllReduces of one element per image and group, and
/// two in backward. Where axes shard batch or space, two more in backward, of one element per channel, for
/// the gradients of weight and bias.
class GroupNorm : public Layer<GroupNorm> {
 public:
  /// @throws Error also unless the groups divide the channels.
  GroupNorm(OwnerAndName place, std::int64_t groups, const Space& X, double epsilon = 1e-5,
            bool affine = true);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::string named_;  // in errors
  std::int64_t groups_;
  double epsilon_;
  detail::FunctionsByX sums_, spread_;
  std::optional<Parameter> weight_, bias_;
};

struct InstanceNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;       ///< the new moments' share in the running ones
  bool affine = false;         ///< are there weight and bias?
  bool running_stats = false;  ///< else evaluation too takes the moments of each image
};

/// The same for each image and channel (Ulyanov et al., 1607.08022). With running moments, training moves
/// them by `momentum` towards the means over images of the images' moments, and evaluation takes them.
/// They have BatchNorm's names; num_batches_tracked stays 0, as torch's. Cost: that of GroupNorm. In
/// training, running moments add two AllReduces of an element a channel where axes shard the batch.
/// A call @throws Error where it takes moments and a channel of an image has one element; or without a
/// context where there are running moments.
class InstanceNorm : public Layer<InstanceNorm> {
 public:
  InstanceNorm(OwnerAndName place, const Space& X, const InstanceNormOptions& options = {});

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  void track(const Vector& mean, const Vector& variance, std::int64_t elements);

  std::string named_;  // in errors
  InstanceNormOptions options_;
  std::optional<Parameter> weight_, bias_, mean_, variance_;
};

}  // namespace riesz
