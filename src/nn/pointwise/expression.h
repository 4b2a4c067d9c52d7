// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "riesz/nn/pointwise/element.h"

namespace riesz {

/// Where a comparison of expressions holds: a tensor of booleans, or one boolean.
class ExpressionCondition {
 public:
  explicit ExpressionCondition(bool all) : all_(all) {}
  explicit ExpressionCondition(at::Tensor each) : each_(std::move(each)) {}
  const at::Tensor& each() const { return each_; }  ///< undefined: one boolean
  bool all() const { return all_; }

  friend ExpressionCondition operator&&(const ExpressionCondition& a, const ExpressionCondition& b);
  friend ExpressionCondition operator||(const ExpressionCondition& a, const ExpressionCondition& b);
  friend ExpressionCondition operator!(const ExpressionCondition& a);

 private:
  at::Tensor each_;
  bool all_ = false;
};

/// A point-wise formula's element as LibTorch's operators see it: a whole tensor, or a constant. So the
/// formula runs on any device, without values, and is recorded for another derivative. Constants fold.
class Expression {
 public:
  Expression() = default;
  Expression(double constant) : constant_(constant) {}
  explicit Expression(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  const at::Tensor& tensor() const { return tensor_; }  ///< undefined: a constant
  double constant() const { return constant_; }

  friend Expression operator+(const Expression& a, const Expression& b);
  friend Expression operator-(const Expression& a, const Expression& b);
  friend Expression operator*(const Expression& a, const Expression& b);
  friend Expression operator/(const Expression& a, const Expression& b);
  friend Expression operator-(const Expression& a);

  friend ExpressionCondition operator<(const Expression& a, const Expression& b);
  friend ExpressionCondition operator>(const Expression& a, const Expression& b);
  friend ExpressionCondition operator<=(const Expression& a, const Expression& b);
  friend ExpressionCondition operator>=(const Expression& a, const Expression& b);
  friend ExpressionCondition operator==(const Expression& a, const Expression& b);
  friend ExpressionCondition operator!=(const Expression& a, const Expression& b);
  friend Expression where(const ExpressionCondition& holds, const Expression& a, const Expression& b);

  friend Expression exp(const Expression& x);
  friend Expression log(const Expression& x);
  friend Expression tanh(const Expression& x);
  friend Expression erf(const Expression& x);
  friend Expression sqrt(const Expression& x);
  friend Expression abs(const Expression& x);
  friend Expression sigmoid(const Expression& x);

 private:
  at::Tensor tensor_;
  double constant_ = 0;
};

template <>
inline constexpr bool detail::is_element<Expression> = true;

inline Expression normal_cdf(const Expression& x, Expression& bell) {
  bell = exp(square(x) * -0.5);
  return 0.5 * (1.0 + erf(x * 0.70710678118654752));
}
inline Expression normal_cdf(const Expression& x) { return 0.5 * (1.0 + erf(x * 0.70710678118654752)); }

}  // namespace riesz
