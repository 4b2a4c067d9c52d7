// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/score_bound.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/vectors/lanes.h"

namespace riesz::detail {
namespace {

/// Of (B, heads, rows, d), each row's elements one after another.
template <typename Number>
struct Rows {
  const Number* data;
  std::int64_t batches, heads, rows, d, batch_step, head_step, row_step;
};

/// Squares of several elements, side by side in a register, and sums of them.
template <typename Number>
struct Squares {
  using Sum = at::opmath_type<Number>;
  static constexpr std::int64_t kCount = sizeof(HalfLanes) / sizeof(Sum);
  using Lane __attribute__((vector_size(sizeof(HalfLanes)))) = Sum;
  using Total __attribute__((vector_size(kCount * sizeof(double)))) = double;

  static inline __attribute__((always_inline)) void add(const Number* x, Lane& sums) {
    Lane numbers;
    if constexpr (std::is_same_v<Number, Sum>) {
      std::memcpy(&numbers, x, sizeof(numbers));
    } else {
      for (std::int64_t j = 0; j < kCount; ++j) numbers[j] = static_cast<Sum>(x[j]);
    }
    sums += numbers * numbers;
  }

  /// Of a row: adds what fills registers to `totals`, and returns the rest.
  static inline __attribute__((always_inline)) double of_row(const Number* x, std::int64_t d, Total& totals) {
    Lane sums = {}, others = {};
    std::int64_t i = 0;
    for (; i + 2 * kCount <= d; i += 2 * kCount) {
      add(x + i, sums);
      add(x + i + kCount, others);
    }
    if (i + kCount <= d) add(x + i, sums), i += kCount;
    totals += __builtin_convertvector(sums, Total);
    totals += __builtin_convertvector(others, Total);
    double rest = 0;
    for (; i < d; ++i) rest += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return rest;
  }
};

/// Of all elements; NaN or ∞ where an element is, or where it overflows.
template <typename Number>
inline __attribute__((always_inline)) double squares(const Rows<Number>& x) {
  typename Squares<Number>::Total totals = {};
  double sum = 0;
  for (std::int64_t b = 0; b < x.batches; ++b) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const Number* row = x.data + b * x.batch_step + r * x.row_step;
      for (std::int64_t head = 0; head < x.heads; ++head, row += x.head_step)
        sum += Squares<Number>::of_row(row, x.d, totals);
    }
  }
  for (std::int64_t j = 0; j < Squares<Number>::kCount; ++j) sum += totals[j];
  return sum;
}

template <typename Number>
double squares_plainly(const Rows<Number>& x) {
  return squares(x);
}
template <typename Number>
RIESZ_FOR_AVX2 double squares_by_avx2(const Rows<Number>& x) {
  return squares(x);
}
template <typename Number>
RIESZ_FOR_AVX512 double squares_by_avx512(const Rows<Number>& x) {
  return squares(x);
}

double sum_of_squares(const at::Tensor& given) {
  const at::Tensor x =
      given.stride(3) == 1 && !given.is_neg() ? given : given.detach().resolve_neg().contiguous();
  double sum = 0;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "sum_of_squares", [&] {
    static const auto kernel = for_this_processor(&squares_plainly<scalar_t>, &squares_by_avx2<scalar_t>,
                                                  &squares_by_avx512<scalar_t>);
    sum = kernel({x.const_data_ptr<scalar_t>(), x.size(0), x.size(1), x.size(2), x.size(3), x.stride(0),
                  x.stride(1), x.stride(2)});
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
  if (!has_values()) return true;  // as those of a normal step
  const double scale = std::abs(mask.scale);
  double bound = norm_of_rows(q) * norm_of_rows(k) * (scale <= 1 ? 1 : scale);
  if (mask.bias.defined()) {
    const auto most = at::amax(mask.bias.detach()).item<double>();
    if (!(most <= 0)) bound += most;  // also NaN
  }
  return bound < largest_of(q.scalar_type()) / 2;
}

}  // namespace riesz::detail
