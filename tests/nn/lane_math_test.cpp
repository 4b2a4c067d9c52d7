// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of lanes against libm's in fp64, over floats of all sizes, with the special ones.
#include "riesz/nn/kernels/lane_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace riesz::testing {
namespace {

using detail::kLanes;

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// In units in the last place of y, which is a float; 0 where both are the same special number.
double error_of(float found, double y) {
  const auto nearest = static_cast<float>(y);
  if (std::isnan(nearest) || std::isinf(nearest) || std::isnan(found) || std::isinf(found))
    return (std::isnan(found) && std::isnan(nearest)) || found == nearest ? 0 : 1e9;
  if (nearest == 0 && found == 0) return std::signbit(nearest) == std::signbit(found) ? 0 : 1e9;
  const float size = std::abs(nearest);
  const double unit = static_cast<double>(std::nextafter(size, INFINITY)) - size;
  return std::abs(found - y) / unit;
}

template <typename V>
constexpr std::uint32_t kWide = sizeof(V) / sizeof(float);

/// `function` of lanes of V, as some processor has it.
template <typename V>
void expect_right(const char* name, void (*function)(const V&, V&), double (*of_double)(double),
                  double bound) {
  double worst = 0;
  float where = 0;
  const auto look = [&](std::uint32_t first, std::uint32_t step) {
    float in[kWide<V>], out[kWide<V>];
    for (std::uint32_t i = 0; i < kWide<V>; ++i) in[i] = float_of(first + i * step);
    V x, y;
    std::memcpy(&x, in, sizeof x);
    function(x, y);
    std::memcpy(out, &y, sizeof y);
    for (std::uint32_t i = 0; i < kWide<V>; ++i) {
      const double error = error_of(out[i], of_double(in[i]));
      if (error > worst) worst = error, where = in[i];
    }
  };
  constexpr std::uint32_t kStep = 4001;  // of all bits: a million numbers, of both signs
  for (std::uint64_t bits = 0; bits + kWide<V> * kStep < (std::uint64_t{1} << 32); bits += kWide<V> * kStep)
    look(static_cast<std::uint32_t>(bits), kStep);
  for (const std::uint32_t special : {0x00000000U, 0x007FFFF8U, 0x3F7FFFF8U, 0x42B0C0A0U, 0x7F7FFFF8U})
    for (const std::uint32_t sign : {0U, 0x80000000U})
      for (std::uint32_t i = 0; i < kLanes; i += kWide<V>) look((special | sign) + i, 1);
  EXPECT_LE(worst, bound) << name << " at " << where;
}

double normal_cdf_from_minus_4(double x) { return std::erfc(-std::max(x, -4.0) / std::sqrt(2.0)) / 2; }
double bell_to_4(double x) {
  const double in = std::min(std::max(x, -4.0), 4.0);
  return std::exp(-in * in / 2);
}

// Each function as each processor's kernels have it: with its target, and its width.
#define RIESZ_OF(suffix, target)                                                        \
  template <typename V>                                                                 \
  target void exp_##suffix(const V& x, V& y) {                                          \
    detail::exp_of(x, y);                                                               \
  }                                                                                     \
  template <typename V>                                                                 \
  target void log_##suffix(const V& x, V& y) {                                          \
    detail::log_of(x, y);                                                               \
  }                                                                                     \
  template <typename V>                                                                 \
  target void tanh_##suffix(const V& x, V& y) {                                         \
    detail::tanh_of(x, y);                                                              \
  }                                                                                     \
  template <typename V>                                                                 \
  target void erf_##suffix(const V& x, V& y) {                                          \
    detail::erf_of(x, y);                                                               \
  }                                                                                     \
  template <typename V>                                                                 \
  target void normal_cdf_##suffix(const V& x, V& y) {                                   \
    const V low = x < -4.0F ? V{} - 4.0F : x;                                           \
    V bell;                                                                             \
    detail::normal_cdf_of(low, y, bell);                                                \
  }                                                                                     \
  template <typename V>                                                                 \
  target void bell_##suffix(const V& x, V& y) {                                         \
    const V up = x < -4.0F ? V{} - 4.0F : x, low = up > 4.0F ? V{} + 4.0F : up;         \
    V cdf;                                                                              \
    detail::normal_cdf_of(low, cdf, y);                                                 \
  }                                                                                     \
  template <typename V>                                                                 \
  target void sqrt_##suffix(const V& x, V& y) {                                         \
    detail::sqrt_of(x, y);                                                              \
  }                                                                                     \
  template <typename V>                                                                 \
  void all_right_##suffix() {                                                           \
    expect_right<V>("exp", exp_##suffix<V>, std::exp, 2);                               \
    expect_right<V>("log", log_##suffix<V>, std::log, 2);                               \
    expect_right<V>("tanh", tanh_##suffix<V>, std::tanh, 2);                            \
    expect_right<V>("erf", erf_##suffix<V>, std::erf, 2);                               \
    expect_right<V>("normal_cdf", normal_cdf_##suffix<V>, normal_cdf_from_minus_4, 22); \
    expect_right<V>("bell", bell_##suffix<V>, bell_to_4, 18);                           \
    expect_right<V>("sqrt", sqrt_##suffix<V>, std::sqrt, 0.501);                        \
  }
RIESZ_OF(plainly, )
RIESZ_OF(by_avx2, RIESZ_FOR_AVX2)
RIESZ_OF(by_avx512, RIESZ_FOR_AVX512)
#undef RIESZ_OF

TEST(LaneMath, IsRightToTwoUnitsAtAllFloatsOnAnyProcessor) { all_right_plainly<detail::HalfLanes>(); }

/// As a thread of a device computes.
TEST(LaneMath, IsRightForOneFloat) { all_right_plainly<float>(); }

#if defined(__x86_64__)
TEST(LaneMath, IsRightByAvx2) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all_right_by_avx2<detail::HalfLanes>();
}

TEST(LaneMath, IsRightByAvx512) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    all_right_by_avx512<detail::Lanes>();
}
#endif

}  // namespace
}  // namespace riesz::testing
