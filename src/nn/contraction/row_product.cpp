// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/row_product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace riesz::detail {
namespace {

/// Below, the call costs more than what is won.
constexpr std::int64_t kLeast = std::int64_t{1} << 16;

constexpr std::int64_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

inline __attribute__((always_inline)) void load(const float* from, Lanes& to) {
  std::memcpy(&to, from, sizeof(Lanes));
}

inline __attribute__((always_inline)) float sum_of(const Lanes& lanes) {
  float half[8], sum[4];
  for (int i = 0; i < 8; ++i) half[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) sum[i] = half[i] + half[i + 4];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/// y_n = Σ_k w_nk·x_k of a w in rows of k: one stream through memory. Several rows at once are slower.
inline __attribute__((always_inline)) void by_rows(const float* x, const float* w, float* y, std::int64_t n,
                                                   std::int64_t k) {
  constexpr int kSums = 4;
  for (std::int64_t row = 0; row < n; ++row, w += k) {
    Lanes sums[kSums] = {};
    std::int64_t at = 0;
    for (; at + kSums * kLanes <= k; at += kSums * kLanes) {
      for (int i = 0; i < kSums; ++i) {
        Lanes a, b;
        load(w + at + i * kLanes, a);
        load(x + at + i * kLanes, b);
        sums[i] += a * b;
      }
    }
    for (; at + kLanes <= k; at += kLanes) {
      Lanes a, b;
      load(w + at, a);
      load(x + at, b);
      sums[0] += a * b;
    }
    float rest = 0;
    for (; at < k; ++at) rest += w[at] * x[at];
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
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
      std::memcpy(y + at, &sum, sizeof sum);
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
struct Kernels {
  Kernel by_rows, by_columns;
};

void rows_plainly(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_rows(x, w, y, n, k);
}
void columns_plainly(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_columns(x, w, y, n, k);
}

#if defined(__x86_64__)
#define RIESZ_WITH_AVX2 __attribute__((target("avx2,fma")))
#define RIESZ_WITH_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
RIESZ_WITH_AVX2 void rows_by_avx2(const float* x, const float* w, float* y, std::int64_t n, std::int64_t k) {
  by_rows(x, w, y, n, k);
}
RIESZ_WITH_AVX2 void columns_by_avx2(const float* x, const float* w, float* y, std::int64_t n,
                                     std::int64_t k) {
  by_columns(x, w, y, n, k);
}
RIESZ_WITH_AVX512 void rows_by_avx512(const float* x, const float* w, float* y, std::int64_t n,
                                      std::int64_t k) {
  by_rows(x, w, y, n, k);
}
RIESZ_WITH_AVX512 void columns_by_avx512(const float* x, const float* w, float* y, std::int64_t n,
                                         std::int64_t k) {
  by_columns(x, w, y, n, k);
}
#undef RIESZ_WITH_AVX2
#undef RIESZ_WITH_AVX512
#endif

Kernels kernels_here() {
#if defined(__x86_64__)
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (wide) return {rows_by_avx512, columns_by_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {rows_by_avx2, columns_by_avx2};
#endif
  return {rows_plainly, columns_plainly};
}

bool plain(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kFloat && !x.is_neg(); }

}  // namespace

bool is_row_product(const at::Tensor& a, const at::Tensor& b) {
  const bool in_rows = b.stride(0) == 1 && b.stride(1) == b.size(0);
  return a.size(0) == 1 && b.numel() >= kLeast && plain(a) && plain(b) && a.is_contiguous() &&
         (in_rows || b.is_contiguous()) && at::get_num_threads() == 1;
}

at::Tensor row_product(const at::Tensor& a, const at::Tensor& b) {
  static const Kernels kernels = kernels_here();
  const bool in_columns = b.is_contiguous();  // each of them is a row of b
  at::Tensor y = at::empty({1, b.size(1)}, a.options());
  (in_columns ? kernels.by_columns : kernels.by_rows)(a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                                                      y.mutable_data_ptr<float>(), b.size(1), b.size(0));
  return y;
}

}  // namespace riesz::detail
