// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/two_moments.h"

namespace riesz {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< of the parameters that decay
};

/// AdamW (Loshchilov and Hutter, 1711.05101), as torch.optim.AdamW, in one fused pass: w ← (1 − η·λ)·w, then
/// w ← w − η·m̂/(√v̂ + ε). Element by element, so the update moves nothing: replicas whose gradients agree bit
/// for bit stay equal.
class AdamW : public TwoMoments {
 public:
  /// @throws Error naming the option that is out of range, or a parameter given twice.
  explicit AdamW(std::shared_ptr<Store> store, const AdamWOptions& options = {},
                 std::vector<Group> groups = {});
  explicit AdamW(std::vector<Parameter> parameters, const AdamWOptions& options = {},
                 std::vector<Group> groups = {})
      : AdamW(whole(std::move(parameters)), options, std::move(groups)) {}
};

}  // namespace riesz
