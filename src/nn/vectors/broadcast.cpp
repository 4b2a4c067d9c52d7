// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz {

using detail::BesideAs;
using detail::local_op;
using detail::read_beside;

Vector add(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices) {
  const at::Tensor beside = read_beside("add", BesideAs::sum, x.space(), x_indices, b, b_indices);
  const bool constant = x.is_constant() && b.is_constant();
  return local_op(x.space(), {x.local(), beside}, constant, [&] { return at::add(x.local(), beside); });
}

Vector sub(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices) {
  const at::Tensor beside = read_beside("sub", BesideAs::sum, x.space(), x_indices, b, b_indices);
  const bool constant = x.is_constant() && b.is_constant();
  return local_op(x.space(), {x.local(), beside}, constant, [&] { return at::sub(x.local(), beside); });
}

Vector mul(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices) {
  const at::Tensor beside = read_beside("mul", BesideAs::product, x.space(), x_indices, g, g_indices);
  const bool constant = x.is_constant() && g.is_constant();
  return local_op(x.space(), {x.local(), beside}, constant, [&] { return at::mul(x.local(), beside); });
}

Vector div(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices) {
  const at::Tensor beside = read_beside("div", BesideAs::product, x.space(), x_indices, g, g_indices);
  const bool constant = x.is_constant() && g.is_constant();
  return local_op(x.space(), {x.local(), beside}, constant, [&] { return at::div(x.local(), beside); });
}

Vector expand(const Vector& v, const std::string& v_indices, const Space& Y, const std::string& y_indices) {
  check_not_partial("expand", Y);
  const at::Tensor beside = read_beside("expand", BesideAs::product, Y, y_indices, v, v_indices);
  return local_op(Y, {beside}, v.is_constant(), [&] { return beside.expand(Y.local_shape()); });
}

}  // namespace riesz
