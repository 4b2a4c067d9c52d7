// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/row_norm.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>

#include "riesz/nn/vectors/lanes.h"
#include "riesz/nn/vectors/plain_floats.h"

namespace riesz::detail {
namespace {

float sum_of_squares(const float* x, std::int64_t n) {
  Lanes sums = {};
  std::int64_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    Lanes a;
    load(x + at, a);
    sums += a * a;
  }
  float rest = 0;
  for (; at < n; ++at) rest += x[at] * x[at];
  return sum_of(sums) + rest;
}

}  // namespace

bool is_row_norm(const at::Tensor& x, const at::Tensor& weight) {
  return plain_floats(x) && plain_floats(weight) && x.numel() > 0 && x.numel() <= kFew &&
         !recorded(x, weight);
}

at::Tensor row_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor rows = x.contiguous(), factors = weight.contiguous();
  at::Tensor result = at::empty(rows.sizes(), rows.options());
  const std::int64_t n = rows.size(-1);
  const float* a = rows.const_data_ptr<float>();
  const float* w = factors.const_data_ptr<float>();
  float* y = result.mutable_data_ptr<float>();
  for (const float* end = a + rows.numel(); a != end; a += n, y += n) {
    const float mean_square = sum_of_squares(a, n) / static_cast<float>(n);
    const float scale = 1 / std::sqrt(mean_square + static_cast<float>(epsilon));
    for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] * scale * w[i];
  }
  return result;
}

}  // namespace riesz::detail
