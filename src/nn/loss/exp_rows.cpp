// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/exp_rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "riesz/nn/kernels/lane_math.h"
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

struct Row {
  const float* x;
  std::int64_t n;
  float g;
};

struct RowSums {
  double sum = 0, shifted = 0;
};

/// All bits of the lanes that the last vector of n numbers has for itself. It is read so that it ends with
/// the row, and the lanes before are the vector's before it.
template <typename Vector, typename Bits = typename BitsOf<Vector>::Type>
inline __attribute__((always_inline)) void last_lanes(std::int64_t n, Bits& lanes) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float);
  for (std::int64_t i = 0; i < kWide; ++i) lanes[i] = i < kWide - n % kWide ? 0 : ~std::uint32_t{0};
}

/// A row that is shorter than a vector, with `before` in front of it.
template <typename Vector>
inline __attribute__((always_inline)) void load_short(const Row& row, float before, Vector& x) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float);
  float all[kWide];
  for (float& number : all) number = before;
  for (std::int64_t i = 0; i < row.n; ++i) all[kWide - row.n + i] = row.x[i];
  load(all, x);
}

constexpr float kLeast = -std::numeric_limits<float>::infinity();

inline __attribute__((always_inline)) float greatest_of(const HalfLanes& lanes) {
  const auto low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3);
  const auto high = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
  const auto four = low > high ? low : high;
  return std::max(std::max(four[0], four[1]), std::max(four[2], four[3]));
}

inline __attribute__((always_inline)) float greatest_of(const Lanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return greatest_of(HalfLanes(low > high ? low : high));
}

template <typename Vector>
inline __attribute__((always_inline)) float greatest(const Row& row) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float);
  Vector x, most, none = {};  // of NaN alone a comparison is false: those are kept apart
  if (row.n < kWide)
    load_short(row, kLeast, x);
  else
    load(row.x + row.n - kWide, x);
  most = x, none = x == x ? none : x;
  for (std::int64_t at = 0; at + kWide <= row.n; at += kWide) {
    load(row.x + at, x);
    most = x > most ? x : most;
    none = x == x ? none : x;
  }
  return greatest_of(most) + sum_of(none);
}

template <typename Vector>
inline __attribute__((always_inline)) RowSums sums(const Row& row,
                                                   const typename BitsOf<Vector>::Type& last) {
  using Bits = typename BitsOf<Vector>::Type;
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float), kBlock = 8 * kWide;
  RowSums all;
  Vector x, e;
  for (std::int64_t at = 0; at < row.n;) {
    Vector of_exp = {}, of_x = {};
    const std::int64_t end = std::min(row.n, at + kBlock);
    for (; at + kWide <= end; at += kWide) {
      load(row.x + at, x);
      x -= row.g;
      exp_of(x, e);
      of_exp += e, of_x += x;
    }
    if (at < end) {
      if (row.n < kWide)
        load_short(row, kLeast, x);
      else
        load(row.x + row.n - kWide, x);
      x -= row.g;
      exp_of(x, e);
      of_exp += (Vector)((Bits)e & last), of_x += (Vector)((Bits)x & last);
      at = end;
    }
    all.sum += sum_of(of_exp), all.shifted += sum_of(of_x);
  }
  return all;
}

template <typename Vector>
inline __attribute__((always_inline)) void scale(const Row& row, float a, float b, float* y) {
  constexpr std::int64_t kWide = sizeof(Vector) / sizeof(float);
  Vector x, e;
  for (std::int64_t at = 0; row.n >= kWide && at < row.n; at += kWide) {
    const std::int64_t begin =
        std::min(at, row.n - kWide);  // the last may be written twice, with the same bits
    load(row.x + begin, x);
    exp_of(Vector(x - row.g), e);
    store(Vector(e * a + b), y + begin);
  }
  if (row.n >= kWide) return;
  load_short(row, 0.0F, x);
  exp_of(Vector(x - row.g), e);
  float all[kWide];
  store(Vector(e * a + b), all);
  for (std::int64_t i = 0; i < row.n; ++i) y[i] = all[kWide - row.n + i];
}

/// Rows of n numbers, one behind another, and what belongs to each.
struct Rows {
  const float* x;
  std::int64_t count, n;
  const float* g = nullptr;

  Row row(std::int64_t i) const { return {x + i * n, n, g[i]}; }
};

template <typename Vector>
inline __attribute__((always_inline)) void greatest_of_rows(const Rows& rows, float* greatest_of) {
  for (std::int64_t i = 0; i < rows.count; ++i)
    greatest_of[i] = greatest<Vector>({rows.x + i * rows.n, rows.n, 0});
}

void greatest_plainly(const Rows& rows, float* y) { greatest_of_rows<HalfLanes>(rows, y); }
RIESZ_FOR_AVX2 void greatest_by_avx2(const Rows& rows, float* y) { greatest_of_rows<HalfLanes>(rows, y); }
RIESZ_FOR_AVX512 void greatest_by_avx512(const Rows& rows, float* y) { greatest_of_rows<Lanes>(rows, y); }

template <typename Vector>
inline __attribute__((always_inline)) void sums_of_rows(const Rows& rows, float* sum, float* shifted) {
  typename BitsOf<Vector>::Type last;
  last_lanes<Vector>(rows.n, last);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const RowSums of_row = sums<Vector>(rows.row(i), last);
    sum[i] = static_cast<float>(of_row.sum), shifted[i] = static_cast<float>(of_row.shifted);
  }
}

void sums_plainly(const Rows& rows, float* s, float* x) { sums_of_rows<HalfLanes>(rows, s, x); }
RIESZ_FOR_AVX2 void sums_by_avx2(const Rows& rows, float* s, float* x) {
  sums_of_rows<HalfLanes>(rows, s, x);
}
RIESZ_FOR_AVX512 void sums_by_avx512(const Rows& rows, float* s, float* x) {
  sums_of_rows<Lanes>(rows, s, x);
}

template <typename Vector>
inline __attribute__((always_inline)) void scale_rows(const Rows& rows, const float* a, const float* b,
                                                      float* y) {
  for (std::int64_t i = 0; i < rows.count; ++i) scale<Vector>(rows.row(i), a[i], b[i], y + i * rows.n);
}

void scale_plainly(const Rows& rows, const float* a, const float* b, float* y) {
  scale_rows<HalfLanes>(rows, a, b, y);
}
RIESZ_FOR_AVX2 void scale_by_avx2(const Rows& rows, const float* a, const float* b, float* y) {
  scale_rows<HalfLanes>(rows, a, b, y);
}
RIESZ_FOR_AVX512 void scale_by_avx512(const Rows& rows, const float* a, const float* b, float* y) {
  scale_rows<Lanes>(rows, a, b, y);
}

}  // namespace

bool is_exp_rows(const at::Tensor& rows) { return plain_floats(rows) && at::get_num_threads() == 1; }

at::Tensor greatest_of_rows(const at::Tensor& rows) {
  static const auto kernel = for_this_processor(greatest_plainly, greatest_by_avx2, greatest_by_avx512);
  at::Tensor greatest = at::empty({rows.size(0), 1}, rows.options());
  kernel({rows.const_data_ptr<float>(), rows.size(0), rows.size(1)}, greatest.mutable_data_ptr<float>());
  return greatest;
}

ExpSums exp_sums(const at::Tensor& rows, const at::Tensor& g) {
  static const auto kernel = for_this_processor(sums_plainly, sums_by_avx2, sums_by_avx512);
  const at::Tensor of_row = g.contiguous();
  const ExpSums all{at::empty(of_row.sizes(), of_row.options()), at::empty(of_row.sizes(), of_row.options())};
  kernel({rows.const_data_ptr<float>(), rows.size(0), rows.size(1), of_row.const_data_ptr<float>()},
         all.sum.mutable_data_ptr<float>(), all.shifted.mutable_data_ptr<float>());
  return all;
}

at::Tensor scaled_exp(const at::Tensor& rows, const at::Tensor& g, const at::Tensor& a, const at::Tensor& b) {
  static const auto kernel = for_this_processor(scale_plainly, scale_by_avx2, scale_by_avx512);
  const at::Tensor of_row = g.contiguous(), factor = a.contiguous(), added = b.contiguous();
  at::Tensor result = at::empty_like(rows);
  kernel({rows.const_data_ptr<float>(), rows.size(0), rows.size(1), of_row.const_data_ptr<float>()},
         factor.const_data_ptr<float>(), added.const_data_ptr<float>(), result.mutable_data_ptr<float>());
  return result;
}

}  // namespace riesz::detail
