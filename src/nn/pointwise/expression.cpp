// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/expression.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include <cmath>

namespace riesz {
namespace {

bool is(const Expression& x, double c) { return !x.tensor().defined() && x.constant() == c; }

Expression of(const at::Tensor& tensor) { return Expression(tensor); }

using OfTensor = at::Tensor (*)(const at::Tensor&);
using OfConstant = double (*)(double);

Expression function(const Expression& x, OfTensor of_tensor, OfConstant of_constant) {
  return x.tensor().defined() ? of(of_tensor(x.tensor())) : Expression(of_constant(x.constant()));
}

/// `swapped` compares b with a.
template <typename Compare, typename Swapped, typename Constants>
ExpressionCondition compared(const Expression& a, const Expression& b, const Compare& compare,
                             const Swapped& swapped, const Constants& constants) {
  if (!a.tensor().defined() && !b.tensor().defined())
    return ExpressionCondition(constants(a.constant(), b.constant()));
  if (!b.tensor().defined()) return ExpressionCondition(compare(a.tensor(), b.constant()));
  if (!a.tensor().defined()) return ExpressionCondition(swapped(b.tensor(), a.constant()));
  return ExpressionCondition(compare(a.tensor(), b.tensor()));
}

}  // namespace

ExpressionCondition operator&&(const ExpressionCondition& a, const ExpressionCondition& b) {
  if (!a.each().defined()) return a.all() ? b : a;
  if (!b.each().defined()) return b.all() ? a : b;
  return ExpressionCondition(at::logical_and(a.each(), b.each()));
}

ExpressionCondition operator||(const ExpressionCondition& a, const ExpressionCondition& b) {
  if (!a.each().defined()) return a.all() ? a : b;
  if (!b.each().defined()) return b.all() ? b : a;
  return ExpressionCondition(at::logical_or(a.each(), b.each()));
}

ExpressionCondition operator!(const ExpressionCondition& a) {
  return a.each().defined() ? ExpressionCondition(at::logical_not(a.each())) : ExpressionCondition(!a.all());
}

Expression operator+(const Expression& a, const Expression& b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (!a.tensor().defined() && !b.tensor().defined()) return a.constant() + b.constant();
  if (!b.tensor().defined()) return of(at::add(a.tensor(), b.constant()));
  if (!a.tensor().defined()) return of(at::add(b.tensor(), a.constant()));
  return of(at::add(a.tensor(), b.tensor()));
}

Expression operator-(const Expression& a, const Expression& b) {
  if (is(b, 0)) return a;
  if (is(a, 0)) return -b;
  if (!a.tensor().defined() && !b.tensor().defined()) return a.constant() - b.constant();
  if (!b.tensor().defined()) return of(at::sub(a.tensor(), b.constant()));
  if (!a.tensor().defined()) return of(at::add(at::neg(b.tensor()), a.constant()));
  return of(at::sub(a.tensor(), b.tensor()));
}

Expression operator*(const Expression& a, const Expression& b) {
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (!a.tensor().defined() && !b.tensor().defined()) return a.constant() * b.constant();
  if (!b.tensor().defined()) return of(at::mul(a.tensor(), b.constant()));
  if (!a.tensor().defined()) return of(at::mul(b.tensor(), a.constant()));
  return of(at::mul(a.tensor(), b.tensor()));
}

Expression operator/(const Expression& a, const Expression& b) {
  if (!a.tensor().defined() && !b.tensor().defined()) return a.constant() / b.constant();
  if (!b.tensor().defined()) return of(at::div(a.tensor(), b.constant()));
  if (!a.tensor().defined()) return of(at::mul(at::reciprocal(b.tensor()), a.constant()));
  return of(at::div(a.tensor(), b.tensor()));
}

Expression operator-(const Expression& a) {
  return a.tensor().defined() ? of(at::neg(a.tensor())) : Expression(-a.constant());
}

#define RIESZ_COMPARES(op, compare, swapped)                                    \
  ExpressionCondition operator op(const Expression& a, const Expression& b) {   \
    return compared(                                                            \
        a, b, [](const at::Tensor& x, const auto& y) { return compare(x, y); }, \
        [](const at::Tensor& x, double y) { return swapped(x, y); },            \
        [](double x, double y) { return x op y; });                             \
  }
RIESZ_COMPARES(<, at::lt, at::gt)
RIESZ_COMPARES(>, at::gt, at::lt)
RIESZ_COMPARES(<=, at::le, at::ge)
RIESZ_COMPARES(>=, at::ge, at::le)
RIESZ_COMPARES(==, at::eq, at::eq)
RIESZ_COMPARES(!=, at::ne, at::ne)
#undef RIESZ_COMPARES

Expression where(const ExpressionCondition& holds, const Expression& a, const Expression& b) {
  if (!holds.each().defined()) return holds.all() ? a : b;
  if (a.tensor().defined())
    return of(b.tensor().defined() ? at::where(holds.each(), a.tensor(), b.tensor())
                                   : at::where(holds.each(), a.tensor(), b.constant()));
  if (b.tensor().defined()) return of(at::where(holds.each(), a.constant(), b.tensor()));
  const auto constant = [&](double value) {
    return at::scalar_tensor(value, holds.each().options().dtype(at::kDouble));
  };
  return of(at::where(holds.each(), constant(a.constant()), constant(b.constant())));
}

Expression exp(const Expression& x) { return function(x, at::exp, std::exp); }
Expression log(const Expression& x) { return function(x, at::log, std::log); }
Expression tanh(const Expression& x) { return function(x, at::tanh, std::tanh); }
Expression erf(const Expression& x) { return function(x, at::erf, std::erf); }
Expression sqrt(const Expression& x) { return function(x, at::sqrt, std::sqrt); }
Expression abs(const Expression& x) { return function(x, at::abs, std::abs); }
Expression sigmoid(const Expression& x) {
  return function(x, at::sigmoid, [](double c) { return 1 / (1 + std::exp(-c)); });
}

}  // namespace riesz
