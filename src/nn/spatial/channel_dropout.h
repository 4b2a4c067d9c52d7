// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/layers/dropout.h"

namespace riesz {

/// Dropout of whole channels, torch's Dropout1d to 3d: in training each channel of each image becomes zero
/// with probability p, else x/(1 − p). The context's seed and step, this module's path and
/// the global indices of image and channel decide. So the mask is the same at every layout, however
/// spatial dims are sharded. Local.
class ChannelDropout : public Layer<ChannelDropout> {
 public:
  /// @throws Error unless 0 ≤ p < 1.
  ChannelDropout(OwnerAndName place, double p);

  /// x of (batch, channels, …). In training @throws Error on a Partial vector; else as `Dropout`.
  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  double p_;
  Dropout drop_;
};

}  // namespace riesz
