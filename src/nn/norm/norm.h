// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/module.h"

namespace riesz {

// A norm's input lies in X, Sharded in any way or Replicated on each axis, and so does its result. It
// normalises each row: the elements along the last dim. Where that dim is whole on each worker, the norm's
// parameters are Replicated; where axes shard it, they are Sharded as it is. Their gradients are summed over
// the axes that shard the other dims. Half types are computed with in fp32.
// @throws Error naming the space if the last dim is of any extent or its split overlaps, or if x is in
// another space, or Partial or Copied on an axis.

/// y = (x − mean(x))/√(var(x) + ε)·weight + bias over the last dim (Ba et al., 1607.06450). The variance is
/// the mean of (x − mean)². Cost: where the last dim is sharded, two AllReduces of one element a row, for the
/// mean and for the variance, and two in backward. Saved for backward: x, two numbers a row, and
/// fp32 copies of weight and bias, because ZeRO may move a parameter's memory.
class LayerNorm : public Layer<LayerNorm> {
 public:
  /// In a model whose letters are roles: over the last of "btc".
  LayerNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon = 1e-5);
  LayerNorm(OwnerAndName place, const Space& X, double epsilon = 1e-5);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::string named_;  // in errors
  double epsilon_;
  Parameter weight_;
  Parameter bias_;
  std::string letters_;  // of x's dims
};

/// y = x/√(mean(x²) + ε)·weight over the last dim (Zhang and Sennrich, 1910.07467). Cost: where the last dim
/// is sharded, an AllReduce of one element a row, and one in backward. Saved for backward: x, a number a row,
/// and an fp32 copy of the weight, because ZeRO may move a parameter's memory.
class RmsNorm : public Layer<RmsNorm> {
 public:
  /// In a model whose letters are roles: over the last of "btc".
  RmsNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon = 1e-5);
  RmsNorm(OwnerAndName place, const Space& X, double epsilon = 1e-5);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::string named_;  // in errors
  double epsilon_;
  Parameter weight_;
  std::string letters_;  // of x's dims
};

}  // namespace riesz
