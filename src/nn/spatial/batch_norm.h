// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/norm_parameters.h"

namespace riesz {

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// Share of the new moments in the running ones. std::nullopt: the means of all batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;         ///< are there weight and bias?
  bool running_stats = true;  ///< false: evaluation too uses the moments of its batch
};

/// Batch norm (Ioffe and Szegedy, 1502.03167) of x (batch, channels, spatial dims) in X, to y in X. Each axis
/// is Sharded or Replicated:
///
///     y = (x − mean)/√(variance + ε)·weight + bias     with moments per channel
///
/// In training (`Context::training`) the moments are those of the call's batch: first the mean, then the mean
/// squared deviation, each over all workers and in at least fp32. Then the running moments move towards them
/// by `momentum`. The running variance is unbiased, times n/(n − 1), as torch's. Outside of training the
/// running moments are used. A region that runs again in backward does not move them.
///
/// Parameters have an element per channel, sharded as the channels: weight and bias; running_mean,
/// running_var and num_batches_tracked, which counts the batches. The last three are not trained. So they are
/// in checkpoints under torch's names.
///
/// Cost in training, where axes shard batch or spatial dims: two AllReduces of one element per channel, and
/// three in backward.
class BatchNorm : public Layer<BatchNorm> {
 public:
  /// @throws Error naming the layer and X unless the channels are known, and none is Partial or Copied.
  BatchNorm(OwnerAndName place, const Space& X, const BatchNormOptions& options = {});

  /// @throws Error without a context; or where it takes the moments of a batch with one element per channel.
  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  void track(const Vector& mean, const Vector& variance, std::int64_t elements);

  std::string named_;  // in errors
  BatchNormOptions options_;
  detail::NormParameters parameters_;
};

}  // namespace riesz
