// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/exp_rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "riesz/nn/vectors/lanes.h"
#include "riesz/nn/vectors/plain_floats.h"

namespace riesz::detail {
namespace {

template <typename Vector>
struct BitsOf;
template <>
struct BitsOf<Lanes> {
  using Type = std::uint32_t __attribute__((vector_size(sizeof(Lanes))));
};
template <>
struct BitsOf<HalfLanes> {
  using Type = std::uint32_t __attribute__((vector_size(sizeof(HalfLanes))));
};

/// exp(x) of x ≤ 0: 2^k·exp(r), r within half of ln 2, by a polynomial of degree 7 (Cephes's expf).
template <typename Vector>
inline __attribute__((always_inline)) void exp_of(const Vector& x, Vector& y) {
  using Bits = typename BitsOf<Vector>::Type;
  constexpr float kRounds = 12582912;  // 1.5·2^23: what is added to it is rounded to whole numbers
  const Vector rounded = x * 1.44269504088896341F + kRounds, k = rounded - kRounds;
  const Vector r = (x - k * 0.693359375F) + k * 2.12194440e-4F;
  Vector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const auto scaled = (Vector)((Bits)p + ((Bits)rounded << 23));  // of vectors: the same bits
  y = x < -87.0F ? Vector{} : scaled;
}

struct Row {
  const float* x;
  std::int64_t n;
  float g;
};

struct RowSums {
  double sum = 0, shifted = 0;
};

template <typename Vector>
inline __attribute__((always_inline)) RowSums sums(const Row& row) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float), kBlock = 8 * kWide;
  RowSums all;
  std::int64_t at = 0;
  Vector x, e;
  for (std::int64_t end = 0; at + kWide <= row.n;) {
    Vector of_exp = {}, of_x = {};
    for (end = std::min(row.n, at + kBlock); at + kWide <= end; at += kWide) {
      load(row.x + at, x);
      x -= row.g;
      exp_of(x, e);
      of_exp += e, of_x += x;
    }
    all.sum += sum_of(of_exp), all.shifted += sum_of(of_x);
  }
  if (at == row.n) return all;
  float rest[kWide];
  std::fill_n(rest, kWide, -std::numeric_limits<float>::infinity());
  std::copy(row.x + at, row.x + row.n, rest);
  load(rest, x);
  x -= row.g;
  exp_of(x, e);
  all.sum += sum_of(e);
  for (; at < row.n; ++at) all.shifted += row.x[at] - row.g;
  return all;
}

RowSums sums_plainly(const Row& row) { return sums<HalfLanes>(row); }
RIESZ_FOR_AVX2 RowSums sums_by_avx2(const Row& row) { return sums<HalfLanes>(row); }
RIESZ_FOR_AVX512 RowSums sums_by_avx512(const Row& row) { return sums<Lanes>(row); }

template <typename Vector>
inline __attribute__((always_inline)) void scale(const Row& row, float a, float b, float* y) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float);
  std::int64_t at = 0;
  Vector x, e;
  for (; at + kWide <= row.n; at += kWide) {
    load(row.x + at, x);
    exp_of(Vector(x - row.g), e);
    store(Vector(e * a + b), y + at);
  }
  if (at == row.n) return;
  float rest[kWide] = {};
  std::copy(row.x + at, row.x + row.n, rest);
  load(rest, x);
  exp_of(Vector(x - row.g), e);
  store(Vector(e * a + b), rest);
  std::copy_n(rest, row.n - at, y + at);
}

void scale_plainly(const Row& row, float a, float b, float* y) { scale<HalfLanes>(row, a, b, y); }
RIESZ_FOR_AVX2 void scale_by_avx2(const Row& row, float a, float b, float* y) {
  scale<HalfLanes>(row, a, b, y);
}
RIESZ_FOR_AVX512 void scale_by_avx512(const Row& row, float a, float b, float* y) {
  scale<Lanes>(row, a, b, y);
}

}  // namespace

bool is_exp_rows(const at::Tensor& rows) { return plain_floats(rows) && at::get_num_threads() == 1; }

ExpSums exp_sums(const at::Tensor& rows, const at::Tensor& g) {
  static const auto kernel = for_this_processor(sums_plainly, sums_by_avx2, sums_by_avx512);
  const at::Tensor of_row = g.contiguous();
  const ExpSums all{at::empty(of_row.sizes(), of_row.options()), at::empty(of_row.sizes(), of_row.options())};
  const std::int64_t n = rows.size(1);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const RowSums row = kernel({rows.const_data_ptr<float>() + i * n, n, of_row.const_data_ptr<float>()[i]});
    all.sum.mutable_data_ptr<float>()[i] = static_cast<float>(row.sum);
    all.shifted.mutable_data_ptr<float>()[i] = static_cast<float>(row.shifted);
  }
  return all;
}

at::Tensor scaled_exp(const at::Tensor& rows, const at::Tensor& g, const at::Tensor& a, const at::Tensor& b) {
  static const auto kernel = for_this_processor(scale_plainly, scale_by_avx2, scale_by_avx512);
  const at::Tensor of_row = g.contiguous(), factor = a.contiguous(), added = b.contiguous();
  at::Tensor result = at::empty_like(rows);
  const std::int64_t n = rows.size(1);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    kernel({rows.const_data_ptr<float>() + i * n, n, of_row.const_data_ptr<float>()[i]},
           factor.const_data_ptr<float>()[i], added.const_data_ptr<float>()[i],
           result.mutable_data_ptr<float>() + i * n);
  }
  return result;
}

}  // namespace riesz::detail
