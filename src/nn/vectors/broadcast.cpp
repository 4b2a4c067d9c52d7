// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/elsewhere.h"

namespace riesz {

using detail::BesideAs;
using detail::elsewhere;
using detail::read_beside;

Vector add(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices) {
  const at::Tensor beside = read_beside("add", BesideAs::sum, x.space(), x_indices, b, b_indices);
  const bool constant = x.is_constant() && b.is_constant();
  if (!x.space().partition().active()) return elsewhere(x.space(), {x.local(), beside}, constant);
  return {x.space(), at::add(x.local(), beside), constant};
}

Vector sub(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices) {
  const at::Tensor beside = read_beside("sub", BesideAs::sum, x.space(), x_indices, b, b_indices);
  const bool constant = x.is_constant() && b.is_constant();
  if (!x.space().partition().active()) return elsewhere(x.space(), {x.local(), beside}, constant);
  return {x.space(), at::sub(x.local(), beside), constant};
}

Vector mul(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices) {
  const at::Tensor beside = read_beside("mul", BesideAs::product, x.space(), x_indices, g, g_indices);
  const bool constant = x.is_constant() && g.is_constant();
  if (!x.space().partition().active()) return elsewhere(x.space(), {x.local(), beside}, constant);
  return {x.space(), at::mul(x.local(), beside), constant};
}

Vector div(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices) {
  const at::Tensor beside = read_beside("div", BesideAs::product, x.space(), x_indices, g, g_indices);
  const bool constant = x.is_constant() && g.is_constant();
  if (!x.space().partition().active()) return elsewhere(x.space(), {x.local(), beside}, constant);
  return {x.space(), at::div(x.local(), beside), constant};
}

}  // namespace riesz
