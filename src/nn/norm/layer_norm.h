// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/module.h"

namespace riesz {

/// y = (x − mean(x))/√(var(x) + ε)·weight + bias over the last dim, from X to itself (Ba et al., 1607.06450).
/// X is Sharded, in any way, or Replicated on each axis. Where the last dim is whole, weight and bias are
/// Replicated; where axes shard it, they are Sharded as it is. Their gradients are summed over the axes that
/// shard the other dims. The variance is the mean of (x − mean)², not mean(x²) − mean(x)², which loses the
/// digits that x has in common. Cost: where the last dim is sharded, an AllReduce of one element a row for
/// the mean and one for the variance, and the same in backward; else none but the gradients'. Saved for
/// backward: x and two numbers a row. Half types are computed with in fp32.
/// @throws Error naming the space if the last dim is of any extent or its split overlaps, or if x is in
/// another space or Partial or Copied on an axis.
class LayerNorm : public Layer<LayerNorm> {
 public:
  /// In a model whose letters are roles: over the last of "btc".
  LayerNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon = 1e-5);
  LayerNorm(Part part, const Space& X, double epsilon = 1e-5);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  double epsilon_;
  Parameter weight_;
  Parameter bias_;
  std::string letters_;  // of x's dims
};

}  // namespace riesz
