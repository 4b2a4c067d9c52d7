// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/nn/parameter.h"

namespace riesz {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< of the parameters that decay
};

/// AdamW (Loshchilov and Hutter, 1711.05101), as torch.optim.AdamW, on each worker's part of each parameter, in one
/// fused pass: w ← (1 − η·λ)·w, then w ← w − η·m̂/(√v̂ + ε). Element by element, so it moves nothing: replicas whose
/// gradients agree bit for bit stay equal. A parameter that no gradient reached counts as having a zero one.
class AdamW {
 public:
  /// @throws Error naming the option that is out of range, or a parameter given twice.
  explicit AdamW(std::vector<Parameter> parameters, const AdamWOptions& options = {});

  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }
  double learning_rate() const { return options_.learning_rate; }
  void step();
  void zero_gradients();

 private:
  struct State {
    at::Tensor first;
    at::Tensor second;
    at::Tensor steps;
  };

  void step_those(bool decaying);

  std::vector<Parameter> parameters_;
  std::vector<State> states_;
  AdamWOptions options_;
};

}  // namespace riesz
