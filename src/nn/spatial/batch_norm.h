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
  /// The new moments' share in the running ones. Without a number these are the means of all batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;         ///< are there weight and bias?
  bool running_stats = true;  ///< else evaluation too takes the moments of its batch
};

/// y = (x − mean)/√(variance + ε)·weight + bias for each channel (Ioffe and Szegedy, 1502.03167). In training
/// (`Context::training`) the moments are those of the call's batch, over all workers. Then the running
/// moments go by `momentum` towards them, the variance unbiased, by n/(n − 1), as torch's. Else the running
/// moments are taken. These are parameters that are not trained: running_mean and running_var, and
/// num_batches_tracked, an integer that counts the batches. So they are in checkpoints under torch's names. A
/// region that runs again in backward leaves them alone. Cost in training, where axes shard
/// batch or space: two AllReduces of an element a channel, and three in backward.
class BatchNorm : public Layer<BatchNorm> {
 public:
  BatchNorm(OwnerAndName place, const Space& X, const BatchNormOptions& options = {});

  /// @throws Error without a context; or where it takes the moments of a batch with one element a channel.
  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  void track(const Vector& mean, const Vector& variance, double unbiased);
  void move_towards(Parameter& running, const Vector& now, const at::Tensor& share, double factor) const;

  std::string named_;  // in errors
  BatchNormOptions options_;
  std::optional<Parameter> weight_, bias_, mean_, variance_, batches_;
};

/// The same for each image and each of `groups` runs of channels (Wu and He, 1803.08494): no moments are
/// kept. Cost: where axes shard channels or space, two AllReduces of an element an image and group, and two
/// in backward. Where axes shard batch or space, two more in backward, of an element a channel, for the
/// gradients of weight and bias.
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

/// The same for each image and channel (Ulyanov et al., 1607.08022), with moments of the call alone.
/// A call @throws Error where a channel of an image has one element.
class InstanceNorm : public Layer<InstanceNorm> {
 public:
  InstanceNorm(OwnerAndName place, const Space& X, double epsilon = 1e-5, bool affine = false);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::string named_;  // in errors
  double epsilon_;
  std::optional<Parameter> weight_, bias_;
};

}  // namespace riesz
