// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/optimizer.h"

namespace riesz {

struct SGDOptions {
  double learning_rate = 1e-3;
  double momentum = 0;  ///< 0: none, and nothing is kept
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< of the parameters that decay
};

/// Stochastic gradient descent, as torch.optim.SGD. With ḡ = g + λ·w: m ← μ·m + (1 − dampening)·ḡ, but m = ḡ
/// at the first step. Then w ← w − η·m, with nesterov w − η·(ḡ + μ·m). Element by element, in one fused pass;
/// the update moves nothing.
class SGD : public Optimizer {
 public:
  /// @throws Error naming the option that is out of range; nesterov needs momentum and no dampening.
  explicit SGD(std::shared_ptr<Store> store, const SGDOptions& options = {}, std::vector<Group> groups = {});
  explicit SGD(std::vector<Parameter> parameters, const SGDOptions& options = {},
               std::vector<Group> groups = {})
      : SGD(whole(std::move(parameters)), options, std::move(groups)) {}

 private:
  void update(const std::vector<Share>& shares, const StorePart& part) override;

  double dampening_;
  bool nesterov_;
  const PerElement* momentum_ = nullptr;
};

}  // namespace riesz
