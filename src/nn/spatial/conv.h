// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
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
  /// The weight's first values. By default they are torch's: uniform between ±1/√(inputs of one output). The
  /// bias begins with zeros.
  std::optional<Initial> initial = std::nullopt;
};

/// The default space of a convolution's weight. An axis that shards y's channels shards the channels out, and
/// one that shards x's channels those in, but with groups these are whole. On all other axes the weight is
/// Replicated.
Space conv_weight_between(const std::string& spec, const Space& X, const Space& Y,
                          const std::vector<std::int64_t>& kernel, std::int64_t groups = 1);

/// A convolution with a bias of y's channels, of 1 to 3 dims of space: y in Y for x in X, wherever they lie
/// (`Convolution`). The batch of X and Y may be of any extent, and so may the dims of space. The extents of y
/// are torch's. Parameters: weight of (channels out, channels in / groups, kernel), and bias. Cost: the
/// traffic of the convolution; in backward an AllReduce of the bias's gradient over the axes that shard batch
/// or space.
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

struct ConvTransposeOptions {
  ConvWindows windows = {};
  /// Further elements at the end of each dim of y, fewer than the stride. The convolution takes several
  /// extents of y to the same extent; this chooses one of them. One number, or one for each dim of space.
  std::vector<std::int64_t> output_padding = {0};
  bool bias = true;
  std::optional<Initial> initial = std::nullopt;
};

/// The transposed convolution, as torch's: the adjoint of the convolution of y's space to x's. The spec
/// "bohw,ocyx->bchw" is read from o to c: the weight is of (channels in, channels out / groups, kernel).
/// Extents of y: (n − 1)·stride − 2·padding + dilation·(kernel − 1) + output_padding + 1. Padding is with
/// zeros. Where space is parallel, workers' terms of one element of y are added by the adjoint of a halo.
class ConvTranspose : public Layer<ConvTranspose> {
 public:
  /// @throws Error naming the layer and the numbers where they do not fit.
  ConvTranspose(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
                const std::vector<std::int64_t>& kernel, const ConvTransposeOptions& options = {});

  Vector forward(const Vector& x);
  const Parameter& weight() const { return weight_; }
  /// The convolution of which this is the adjoint, for x in X.
  std::shared_ptr<const Convolution> convolution(const Space& X);

  std::string describe() const override;

 private:
  std::string spec_;  // of the convolution: from y to x
  ConvTransposeOptions options_;
  std::vector<std::int64_t> kernel_;
  Parameter weight_;
  std::optional<Parameter> bias_;
  detail::PlanCache<Convolution> plans_{4};
};

}  // namespace riesz
