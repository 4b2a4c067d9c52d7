// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/score_bound.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "riesz/comm/sum/ordered_sum.h"

namespace riesz::detail {
namespace {

constexpr std::int64_t kSums = 16;  // side by side, so that the compiler takes several at once

template <typename Number>
double row_of_squares(const Number* x, std::int64_t count) {
  using Sum = at::opmath_type<Number>;
  std::array<Sum, kSums> sums{};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t j = 0; j < kSums; ++j) {
      const auto number = static_cast<Sum>(x[i + j]);
      sums[static_cast<std::size_t>(j)] += number * number;
    }
  }
  double sum = 0;
  for (const Sum part : sums) sum += static_cast<double>(part);
  for (; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

/// Of all of (B, heads, rows, d); NaN or ∞ where an element is, or where it overflows.
double sum_of_squares(const at::Tensor& given) {
  const at::Tensor x =
      given.stride(3) == 1 && !given.is_neg() ? given : given.detach().resolve_neg().contiguous();
  double sum = 0;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "sum_of_squares", [&] {
    const auto* data = x.const_data_ptr<scalar_t>();
    for (std::int64_t b = 0; b < x.size(0); ++b) {
      for (std::int64_t row = 0; row < x.size(2); ++row) {
        for (std::int64_t head = 0; head < x.size(1); ++head)
          sum += row_of_squares(data + b * x.stride(0) + head * x.stride(1) + row * x.stride(2), x.size(3));
      }
    }
  });
  return sum;
}

/// A number that the norm of none of (B, heads, rows, d) exceeds. Our kernel has one thread.
double norm_of_rows(const at::Tensor& x) {
  if (at::get_num_threads() == 1) return std::sqrt(sum_of_squares(x));
  const at::ScalarType type = accumulation_type(x.scalar_type());
  return at::amax(at::linalg_vector_norm(x.detach(), 2, {3}, false, type)).item<double>();
}

double largest_of(at::ScalarType type) {
  return type == at::kDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

}  // namespace

bool surely_finite(const at::Tensor& q, const at::Tensor& k, const TileMask& mask) {
  const double scale = std::abs(mask.scale);
  double bound = norm_of_rows(q) * norm_of_rows(k) * (scale <= 1 ? 1 : scale);
  if (mask.bias.defined()) {
    const auto most = at::amax(mask.bias.detach()).item<double>();
    if (!(most <= 0)) bound += most;  // also NaN
  }
  return bound < largest_of(q.scalar_type()) / 2;
}

}  // namespace riesz::detail
