// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/module.h"

namespace riesz {

/// y = x/√(mean(x²) + ε)·weight over the last dim, from X to itself (Zhang and Sennrich, 1910.07467).
/// Placement, storage of the weight and errors are as of `LayerNorm`. Cost: where the last dim is sharded, an
/// AllReduce of one element a row, and one in backward. Half types are computed with in fp32.
class RmsNorm : public Layer<RmsNorm> {
 public:
  /// In a model whose letters are roles: over the last of "btc".
  RmsNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon = 1e-5);
  RmsNorm(Part part, const Space& X, double epsilon = 1e-5);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  double epsilon_;
  Parameter weight_;
  std::string letters_;  // of x's dims
};

}  // namespace riesz
