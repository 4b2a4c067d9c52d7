// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/two_moments.h"

namespace riesz {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< of the parameters that decay
};

/// Adam (Kingma and Ba, 1412.6980), as torch.optim.Adam: its decay adds λ·w to the gradient; then
/// w ← w − η·m̂/(√v̂ + ε). Element by element, in one fused pass; the update moves nothing.
class Adam : public TwoMoments {
 public:
  /// @throws Error naming the option that is out of range, or a parameter given twice.
  explicit Adam(std::shared_ptr<Store> store, const AdamOptions& options = {},
                std::vector<Group> groups = {});
  explicit Adam(std::vector<Parameter> parameters, const AdamOptions& options = {},
                std::vector<Group> groups = {})
      : Adam(whole(std::move(parameters)), options, std::move(groups)) {}
};

}  // namespace riesz
