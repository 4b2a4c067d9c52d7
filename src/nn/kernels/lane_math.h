// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "riesz/comm/kernels/mark.h"
#include "riesz/nn/vectors/lanes.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// Functions of lanes of fp32, and of one float, with which a thread of a device computes. Each gives NaN for
// NaN, and is right at 0, at denormal numbers and at the infinities. The bounds are those that the tests
// hold, in units in the last place, over all floats.
namespace riesz::detail {

template <typename V>
struct IntsOf;
template <>
struct IntsOf<float> {
  using Type = std::int32_t;
};
#if !defined(__CUDACC__)
template <>
struct IntsOf<Lanes> {
  using Type = std::int32_t __attribute__((vector_size(sizeof(Lanes))));
};
template <>
struct IntsOf<HalfLanes> {
  using Type = std::int32_t __attribute__((vector_size(sizeof(HalfLanes))));
};

// The same bits as whole numbers, or as floats; and the whole numbers as floats.
template <typename V>
RIESZ_ELEMENT void ints_of(const V& x, typename IntsOf<V>::Type& y) {
  y = (typename IntsOf<V>::Type)x;
}
template <typename V>
RIESZ_ELEMENT void bits_as(const typename IntsOf<V>::Type& x, V& y) {
  y = (V)x;
}
template <typename V>
RIESZ_ELEMENT void value_as(const typename IntsOf<V>::Type& x, V& y) {
  y = __builtin_convertvector(x, V);
}
#endif
RIESZ_ELEMENT void ints_of(const float& x, std::int32_t& y) { std::memcpy(&y, &x, sizeof y); }
RIESZ_ELEMENT void bits_as(const std::int32_t& x, float& y) { std::memcpy(&y, &x, sizeof y); }
RIESZ_ELEMENT void value_as(const std::int32_t& x, float& y) { y = static_cast<float>(x); }

/// exp(x) to 2 units: 2^k·exp(r), r within half of ln 2, by a polynomial of degree 7 (Cephes's expf).
template <typename V>
RIESZ_ELEMENT void exp_of(const V& x, V& y) {
  using Ints = typename IntsOf<V>::Type;
  constexpr float kRounds = 12582912;  // 1.5·2^23: what is added to it is rounded to whole numbers
  const V low = x < -104.0F ? V{} - 104.0F : x, in = low > 89.0F ? V{} + 89.0F : low;
  const V rounded = in * 1.44269504088896341F + kRounds, k = rounded - kRounds;
  const V r = (in - k * 0.693359375F) + k * 2.12194440e-4F;
  V p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // In two factors: 2^128 and 2^-150 are no floats.
  Ints whole;
  ints_of(rounded, whole);
  whole -= 0x4B400000;
  const Ints half = whole >> 1;
  V low_factor, high_factor;
  bits_as(Ints((half + 127) << 23), low_factor), bits_as(Ints((whole - half + 127) << 23), high_factor);
  y = p * low_factor * high_factor;
}

/// ln(x) to 2 units: of the mantissa by a polynomial (Cephes's logf), and of the exponent.
template <typename V>
RIESZ_ELEMENT void log_of(const V& x, V& y) {
  using Ints = typename IntsOf<V>::Type;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto tiny = x < std::numeric_limits<float>::min();
  Ints bits;
  ints_of(V(tiny ? x * 8388608.0F : x), bits);
  V half, exponent;
  bits_as(Ints((bits & 0x007FFFFF) | 0x3F000000), half);  // from 1/2 to 1
  value_as(Ints((bits >> 23) - 126), exponent);
  const auto small = half < 0.707106781186547524F;
  const V e = exponent - (tiny ? V{} + 23.0F : V{}) - (small ? V{} + 1.0F : V{});
  const V m = (small ? half + half : half) - 1.0F, z = m * m;
  V p = m * 7.0376836292E-2F - 1.1514610310E-1F;
  p = p * m + 1.1676998740E-1F;
  p = p * m - 1.2420140846E-1F;
  p = p * m + 1.4249322787E-1F;
  p = p * m - 1.6668057665E-1F;
  p = p * m + 2.0000714765E-1F;
  p = p * m - 2.4999993993E-1F;
  p = p * m + 3.3333331174E-1F;
  const V rest = (m * z) * p + e * -2.12194440e-4F - z * 0.5F;
  const V of_positive = m + rest + e * 0.693359375F;
  const V none = V{} + std::numeric_limits<float>::quiet_NaN();
  const V of_number = x == 0.0F ? V{} - kInf : (x < 0.0F ? none : of_positive);
  const V infinite = V{} + kInf;
  y = x == kInf ? infinite : of_number + (x - x);  // NaN of NaN
}

template <typename V>
RIESZ_ELEMENT void abs_of(const V& x, V& y) {
  typename IntsOf<V>::Type bits;
  ints_of(x, bits);
  bits_as(typename IntsOf<V>::Type(bits & 0x7FFFFFFF), y);
}

/// |y| with the sign of x.
template <typename V>
RIESZ_ELEMENT void with_sign_of(const V& x, V& y) {
  using Ints = typename IntsOf<V>::Type;
  Ints size, sign;
  ints_of(y, size), ints_of(x, sign);
  bits_as(Ints((size & 0x7FFFFFFF) | (sign & ~0x7FFFFFFF)), y);
}

/// tanh(x) to 2 units: below 0.625 by a polynomial (Cephes's tanhf), above by 1 − 2/(exp(2|x|) + 1).
template <typename V>
RIESZ_ELEMENT void tanh_of(const V& x, V& y) {
  const V z = x * x;
  V p = z * -5.70498872745E-3F + 2.06390887954E-2F;
  p = p * z - 5.37397155531E-2F;
  p = p * z + 1.33314422036E-1F;
  p = p * z - 3.33332819422E-1F;
  V size, e;
  abs_of(x, size);
  exp_of(V(size + size), e);
  V large = 1.0F - 2.0F / (e + 1.0F);
  with_sign_of(x, large);
  y = size < 0.625F ? (p * z) * x + x : large;
  with_sign_of(x, y);  // of −0 too
}

/// erf(x) to 2 units: below 0.927 by a polynomial, above by 1 − exp of one (Juffa's erff).
template <typename V>
RIESZ_ELEMENT void erf_of(const V& x, V& y) {
  V t;
  abs_of(x, t);
  const V s = x * x;
  V r = s * -5.96761703e-4F + 4.99119423e-3F;
  r = r * s - 2.67681349e-2F;
  r = r * s + 1.12819925e-1F;
  r = r * s - 3.76125336e-1F;
  r = r * s + 1.28379166e-1F;
  const V small = r * x + x;
  const V most = t > 4.0F ? V{} + 4.0F : t, s_most = most * most;  // at 4 it is 1
  V q = most * -1.72853470e-5F + 3.83197126e-4F;
  q = q * s_most + (most * -3.88396438e-3F + 2.42546219e-2F);
  q = q * most - 1.06777877e-1F;
  q = q * most - 6.34846687e-1F;
  q = q * most - 1.28717512e-1F;
  V e;
  exp_of(V(q * most - most), e);
  V large = 1.0F - e;
  with_sign_of(x, large);
  y = t > 0.927734375F ? large : small;
}

/// Φ(x), the standard normal distribution function, and exp(−x²/2) with it. For a = |x|, Φ(−a) is
/// exp(−a²/2)·P(1/(1 + 0.3·a)), with P of degree 8 fitted to 6·10⁻⁸ of each value down to a = 14.5. Right to
/// 6 + x² units: x² is rounded.
template <typename V>
RIESZ_ELEMENT void normal_cdf_of(const V& x, V& y, V& bell) {
  V a;
  abs_of(x, a);
  exp_of(V(a * a * -0.5F), bell);
  const V t = 1.0F / (a * 0.3F + 1.0F);
  V p = t * 0.0384074040F - 0.169307515F;
  p = p * t + 0.228951886F;
  p = p * t - 0.0768397674F;
  p = p * t + 0.142765343F;
  p = p * t + 0.0945858359F;
  p = p * t + 0.121945269F;
  p = p * t + 0.119484209F;
  p = p * t + 7.37242954E-6F;
  const V tail = bell * p;
  y = x > 0.0F ? 1.0F - tail : tail;
}

/// √x, rounded once.
RIESZ_ELEMENT void sqrt_of(const float& x, float& y) { y = sqrtf(x); }
#if !defined(__CUDACC__)
template <typename V>
RIESZ_ELEMENT void sqrt_of(const V& x, V& y) {
#if defined(__SSE__)
  for (std::size_t i = 0; i < sizeof(V); i += sizeof(__m128)) {
    __m128 part;
    std::memcpy(&part, reinterpret_cast<const char*>(&x) + i, sizeof(part));
    part = _mm_sqrt_ps(part);
    std::memcpy(reinterpret_cast<char*>(&y) + i, &part, sizeof(part));
  }
#else
  for (std::size_t i = 0; i < sizeof(V) / sizeof(float); ++i) y[i] = __builtin_sqrtf(x[i]);
#endif
}
#endif

}  // namespace riesz::detail
