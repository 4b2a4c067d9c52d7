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

struct ConvTransposeOptions {
  ConvWindows windows = {};
  /// Elements added at the end of y, less than the stride: one number, or one for each spatial dim. With
  /// stride s, s extents of y have one extent of x; this picks one of them.
  std::vector<std::int64_t> output_padding = {0};
  bool bias = true;
  std::optional<Initial> initial = std::nullopt;  ///< as in `ConvOptions`
};

/// The transposed convolution, as torch's: the adjoint of the convolution that maps images in Y to X. The
/// spec "bohw,ocrs->bchw" is read from o to c: the weight is of (channels in, channels out / groups, kernel).
/// Extents of y: (n − 1)·stride − 2·padding + dilation·(kernel − 1) + output_padding + 1. Padding is with
/// zeros. Cost: that of `Convolution::transposed`. Where an axis shards a spatial dim, workers' terms of one
/// element are added (HaloSum).
class ConvTranspose : public Layer<ConvTranspose> {
 public:
  /// @throws Error naming the layer and the numbers where they do not fit; or where the padding is `same` or
  /// of another mode than zeros.
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
