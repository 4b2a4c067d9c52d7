// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>

#include "riesz/nn/pointwise/dual.h"
#include "riesz/nn/pointwise/number.h"

namespace riesz {

namespace detail {

template <typename>
inline constexpr bool is_element = false;
template <typename V>
inline constexpr bool is_element<Number<V>> = true;
template <typename T, unsigned Inputs>
inline constexpr bool is_element<Dual<T, Inputs>> = true;

/// False for every type; delays a static_assert until the function is used.
template <typename>
inline constexpr bool always_false = false;

}  // namespace detail

/// What a point-wise formula computes with.
template <typename X>
concept Element = detail::is_element<X>;

// Functions made of others, with their derivatives.

template <Element X>
RIESZ_ELEMENT X square(const X& x) {
  return x * x;
}

/// 1/√x
template <Element X>
RIESZ_ELEMENT X rsqrt(const X& x) {
  return 1.0 / sqrt(x);
}

/// x^n by multiplications, and 1/x^−n where n < 0.
template <Element X>
RIESZ_ELEMENT X pow(const X& x, int n) {
  const int size = n < 0 ? -n : n;
  X y = n == 0 ? X(1.0) : x;
  for (int i = 1; i < size; ++i) y = y * x;
  if (n < 0) y = 1.0 / y;
  return y;
}
template <Element X, std::floating_point P>
X pow(const X&, P) {
  static_assert(detail::always_false<P>, "pow takes a whole power; write exp(p * log(x)) for another");
}

/// 1/(1 + exp(−x)), by exp(−|x|), which does not overflow. Its derivative is σ(1 − σ).
template <typename V>
RIESZ_ELEMENT Number<V> sigmoid(const Number<V>& x) {
  const Number<V> e = exp(-abs(x));
  return where(x < 0.0, e, Number<V>(1.0)) / (e + 1.0);
}
template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> sigmoid(const Dual<T, A>& x) {
  const T y = sigmoid(x.value);
  return detail::chained(y, T(y * (T(1.0) - y)), x);
}

/// Φ(x) = (1 + erf(x/√2))/2, the standard normal distribution function. Its derivative reuses the exponential
/// of the value.
template <typename V>
RIESZ_ELEMENT Number<V> normal_cdf(const Number<V>& x) {
  Number<V> bell;
  return normal_cdf(x, bell);
}
template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> normal_cdf(const Dual<T, A>& x) {
  T bell(0.0);
  const T y = normal_cdf(x.value, bell);
  return detail::chained(y, T(bell * T(0.39894228040143268)), x);
}

/// The greater, NaN where one is. Where both are equal it is the constant, or else b, with its derivatives:
/// so max(x, 0.0) has derivative 0 at 0.
template <typename A, typename B>
requires(Element<A> || Element<B>) RIESZ_ELEMENT auto max(const A& a, const B& b) {
  if constexpr (!Element<A>)
    return where(b <= a, a, b);
  else if constexpr (!Element<B>)
    return where(a <= b, b, a);
  else
    return where(a > b || a != a, a, b);
}

/// The lesser, likewise.
template <typename A, typename B>
requires(Element<A> || Element<B>) RIESZ_ELEMENT auto min(const A& a, const B& b) {
  if constexpr (!Element<A>)
    return where(b >= a, a, b);
  else if constexpr (!Element<B>)
    return where(a >= b, b, a);
  else
    return where(a < b || a != a, a, b);
}

}  // namespace riesz
