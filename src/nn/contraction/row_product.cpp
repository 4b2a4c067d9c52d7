// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/row_product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "riesz/nn/vectors/lanes.h"
#include "riesz/nn/vectors/plain_floats.h"

namespace riesz::detail {
namespace {

/// The least of the sizes that were measured: 2¹⁰ to 2¹⁷ elements, n × 576 and 576 × n, in turns with at::mm,
/// on an EPYC with AVX-512. Where w comes from memory, as when a model writes, at::mm takes 1.8 to 2.6 times
/// as long by rows, and 1.0 to 1.8 by columns. Where w is in a cache it takes 1.4 to 2.7 times as long by
/// rows; by columns 1.3 to 1.7 from n = 40 on, and 0.8 to 1.6 below. The kernels for AVX2 are as fast from
/// memory; from a cache at::mm takes 1.1 to 2.5 times as long by rows, and 0.6 to 1.6 by columns.
constexpr std::int64_t kLeast = std::int64_t{1} << 10;

/// y_n = Σ_k w_nk·x_k of a w in rows of k: one stream through memory. Several rows at once are slower.
inline __attribute__((always_inline)) void by_rows(const float* x, const float* w, float* y, std::int64_t n,
                                                   std::int64_t k) {
  constexpr int kSums = 8;
  for (std::int64_t row = 0; row < n; ++row, w += k) {
    HalfLanes sums[kSums] = {};
    std::int64_t at = 0;
    for (; at + kSums * kHalfLanes <= k; at += kSums * kHalfLanes) {
      for (int i = 0; i < kSums; ++i) {
        HalfLanes a, b;
        load(w + at + i * kHalfLanes, a);
        load(x + at + i * kHalfLanes, b);
        sums[i] += a * b;
      }
    }
    for (; at + kHalfLanes <= k; at += kHalfLanes) {
      HalfLanes a, b;
      load(w + at, a);
      load(x + at, b);
      sums[0] += a * b;
    }
    float rest = 0;
    for (; at < k; ++at) rest += w[at] * x[at];
    for (int half = kSums / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    y[row] = sum_of(sums[0]) + rest;
  }
}

/// The same of a w in rows of n: y = Σ_k x_k·w_k, four rows at a time, while y stays in the nearest cache.
inline __attribute__((always_inline)) void by_columns(const float* x, const float* w, float* y,
                                                      std::int64_t n, std::int64_t k) {
  std::fill(y, y + n, 0.0F);
  std::int64_t row = 0;
  for (; row + 4 <= k; row += 4, w += 4 * n) {
    std::int64_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
      Lanes a, b, c, d, sum;
      load(w + at, a), load(w + n + at, b), load(w + 2 * n + at, c), load(w + 3 * n + at, d);
      load(y + at, sum);
      sum += a * x[row];
      sum += b * x[row + 1];
      sum += c * x[row + 2];
      sum += d * x[row + 3];
      store(sum, y + at);
    }
    for (; at < n; ++at)
      y[at] +=
          w[at] * x[row] + w[n + at] * x[row + 1] + w[2 * n + at] * x[row + 2] + w[3 * n + at] * x[row + 3];
  }
  for (; row < k; ++row, w += n) {
    for (std::int64_t at = 0; at < n; ++at) y[at] += w[at] * x[row];
  }
}

using Kernel = void (*)(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k);

void rows_plainly(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_rows(x, w, y, n, k);
}
RIESZ_FOR_AVX2 void rows_by_avx2(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_rows(x, w, y, n, k);
}
RIESZ_FOR_AVX512 void rows_by_avx512(const float* x, const float* w, float* y, std::int64_t n,
                                     std::int64_t k) {
  by_rows(x, w, y, n, k);
}

void columns_plainly(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_columns(x, w, y, n, k);
}
RIESZ_FOR_AVX2 void columns_by_avx2(const float* x, const float* w, float* y, std::int64_t n,
                                    std::int64_t k) {
  by_columns(x, w, y, n, k);
}
RIESZ_FOR_AVX512 void columns_by_avx512(const float* x, const float* w, float* y, std::int64_t n,
                                        std::int64_t k) {
  by_columns(x, w, y, n, k);
}

}  // namespace

bool is_row_product(const at::Tensor& x, const at::Tensor& w) {
  return w.numel() >= kLeast && plain_floats(x) && plain_floats(w) && x.is_contiguous() &&
         w.is_contiguous() && at::get_num_threads() == 1 && has_values();
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& w, Weights lie, at::IntArrayRef shape) {
  static const Kernel by_rows_here = for_this_processor<Kernel>(rows_plainly, rows_by_avx2, rows_by_avx512);
  static const Kernel by_columns_here =
      for_this_processor<Kernel>(columns_plainly, columns_by_avx2, columns_by_avx512);
  at::Tensor y = at::empty(shape, x.options());
  const Kernel kernel = lie == Weights::in_rows ? by_rows_here : by_columns_here;
  kernel(x.const_data_ptr<float>(), w.const_data_ptr<float>(), y.mutable_data_ptr<float>(), y.numel(),
         x.numel());
  return y;
}

}  // namespace riesz::detail
