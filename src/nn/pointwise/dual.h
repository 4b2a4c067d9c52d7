// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

#include "riesz/nn/kernels/lane_math.h"

namespace riesz {

/// A dual number, as in forward-mode differentiation: a value, and its derivative with respect to each input
/// whose bit is set in `Inputs`. It has nothing to do with the dual of a space, `dual(X)`. So a formula
/// computes its gradients, and nothing for a derivative that is zero. A step on other inputs has another
/// type: give each step a name of its own, `const auto`.
template <typename T, unsigned Inputs>
class Dual {
 public:
  RIESZ_ELEMENT Dual() {}
  RIESZ_ELEMENT Dual(double c) requires(Inputs == 0) : value(c) {}
  RIESZ_ELEMENT explicit Dual(const T& of) : value(of) {}

  T value;
  T by[Inputs == 0 ? 1 : 32 - __builtin_clz(Inputs | 1U)];  ///< the derivative by input i, if bit i is set
};

namespace detail {

/// Calls f(i), i a constant, for each bit that is set.
template <unsigned Inputs, unsigned I = 0, typename Function>
RIESZ_ELEMENT void for_each_input(const Function& f) {
  if constexpr ((Inputs >> I) != 0) {
    if constexpr ((Inputs >> I & 1U) != 0) f(std::integral_constant<unsigned, I>{});
    if constexpr (I < 31) for_each_input<Inputs, I + 1>(f);
  }
}

/// y with the derivatives a·∂x.
template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> chained(const T& y, const T& a, const Dual<T, A>& x) {
  Dual<T, A> result(y);
  for_each_input<A>([&](auto i) { result.by[i] = a * x.by[i]; });
  return result;
}

/// y with its derivatives: both(∂a, ∂b) for an input of a and b, of_a(∂a) or of_b(∂b) for an input of one.
template <typename T, unsigned A, unsigned B, typename OfBoth, typename OfA, typename OfB>
RIESZ_ELEMENT Dual<T, A | B> joined(const T& y, const Dual<T, A>& a, const Dual<T, B>& b, const OfBoth& both,
                                    const OfA& of_a, const OfB& of_b) {
  Dual<T, A | B> result(y);
  for_each_input<A | B>([&](auto i) {
    constexpr bool in_a = (A >> i & 1U) != 0, in_b = (B >> i & 1U) != 0;
    if constexpr (in_a && in_b)
      result.by[i] = both(a.by[i], b.by[i]);
    else if constexpr (in_a)
      result.by[i] = of_a(a.by[i]);
    else
      result.by[i] = of_b(b.by[i]);
  });
  return result;
}

template <typename>
inline constexpr bool is_dual = false;
template <typename T, unsigned Inputs>
inline constexpr bool is_dual<Dual<T, Inputs>> = true;
template <typename X>
concept Constant = std::is_arithmetic_v<X>;

}  // namespace detail

template <typename T, unsigned A, unsigned B>
RIESZ_ELEMENT auto operator+(const Dual<T, A>& a, const Dual<T, B>& b) {
  return detail::joined(
      T(a.value + b.value), a, b, [](const T& p, const T& q) { return p + q; }, [](const T& p) { return p; },
      [](const T& q) { return q; });
}

template <typename T, unsigned A, unsigned B>
RIESZ_ELEMENT auto operator-(const Dual<T, A>& a, const Dual<T, B>& b) {
  return detail::joined(
      T(a.value - b.value), a, b, [](const T& p, const T& q) { return p - q; }, [](const T& p) { return p; },
      [](const T& q) { return -q; });
}

template <typename T, unsigned A, unsigned B>
RIESZ_ELEMENT auto operator*(const Dual<T, A>& a, const Dual<T, B>& b) {
  return detail::joined(
      T(a.value * b.value), a, b, [&](const T& p, const T& q) { return p * b.value + a.value * q; },
      [&](const T& p) { return p * b.value; }, [&](const T& q) { return a.value * q; });
}

/// ∂(a/b) = (∂a − a/b·∂b)/b. Where b is infinite, ∂b counts as 0: b overflowed, as in 1/(1 + exp(−x)), and
/// a/b is 0 nearby.
template <typename T, unsigned A, unsigned B>
RIESZ_ELEMENT auto operator/(const Dual<T, A>& a, const Dual<T, B>& b) {
  if constexpr (B == 0) {
    const T factor = T(1.0) / b.value;
    return detail::joined(
        T(a.value / b.value), a, b, [](const T& p, const T&) { return p; },
        [&](const T& p) { return p * factor; }, [](const T& q) { return q; });
  } else {
    const T y = a.value / b.value, factor = T(1.0) / b.value;
    const auto overflowed = abs(b.value) == T(std::numeric_limits<double>::infinity());
    const auto by_b = [&](const T& q) { return where(overflowed, T(0.0), y * q); };
    return detail::joined(
        y, a, b, [&](const T& p, const T& q) { return (p - by_b(q)) * factor; },
        [&](const T& p) { return p * factor; }, [&](const T& q) { return -by_b(q) * factor; });
  }
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> operator-(const Dual<T, A>& x) {
  return detail::chained(T(-x.value), T(-1.0), x);
}

/// Where the condition holds a, else b, and its derivatives.
template <typename Mask, typename T, unsigned A, unsigned B>
RIESZ_ELEMENT auto where(const Mask& holds, const Dual<T, A>& a, const Dual<T, B>& b) {
  return detail::joined(
      T(where(holds, a.value, b.value)), a, b, [&](const T& p, const T& q) { return where(holds, p, q); },
      [&](const T& p) { return where(holds, p, T(0.0)); },
      [&](const T& q) { return where(holds, T(0.0), q); });
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> exp(const Dual<T, A>& x) {
  const T y = exp(x.value);
  return detail::chained(y, y, x);
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> log(const Dual<T, A>& x) {
  return detail::chained(T(log(x.value)), T(T(1.0) / x.value), x);
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> tanh(const Dual<T, A>& x) {
  const T y = tanh(x.value);
  return detail::chained(y, T(T(1.0) - y * y), x);
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> erf(const Dual<T, A>& x) {
  constexpr double kTwoOverRootPi = 1.12837916709551257390;
  return detail::chained(T(erf(x.value)), T(exp(-(x.value * x.value)) * T(kTwoOverRootPi)), x);
}

template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> sqrt(const Dual<T, A>& x) {
  const T y = sqrt(x.value);
  return detail::chained(y, T(T(0.5) / y), x);
}

/// Its derivative at 0 is 0.
template <typename T, unsigned A>
RIESZ_ELEMENT Dual<T, A> abs(const Dual<T, A>& x) {
  const T zero(0.0);
  const T sign = where(x.value > zero, T(1.0), where(x.value < zero, T(-1.0), zero));
  return detail::chained(T(abs(x.value)), sign, x);
}

#define RIESZ_COMPARES(op)                                                   \
  template <typename T, unsigned A, unsigned B>                              \
  RIESZ_ELEMENT auto operator op(const Dual<T, A>& a, const Dual<T, B>& b) { \
    return a.value op b.value;                                               \
  }
RIESZ_COMPARES(<)
RIESZ_COMPARES(>)
RIESZ_COMPARES(<=)
RIESZ_COMPARES(>=)
RIESZ_COMPARES(==)
RIESZ_COMPARES(!=)
#undef RIESZ_COMPARES

// With a constant: it depends on no input.
#define RIESZ_WITH_CONSTANT(op)                              \
  template <typename T, unsigned A, detail::Constant C>      \
  RIESZ_ELEMENT auto operator op(const Dual<T, A>& a, C b) { \
    return a op Dual<T, 0>(static_cast<double>(b));          \
  }                                                          \
  template <typename T, unsigned A, detail::Constant C>      \
  RIESZ_ELEMENT auto operator op(C a, const Dual<T, A>& b) { \
    return Dual<T, 0>(static_cast<double>(a)) op b;          \
  }
RIESZ_WITH_CONSTANT(+)
RIESZ_WITH_CONSTANT(-)
RIESZ_WITH_CONSTANT(*)
RIESZ_WITH_CONSTANT(/)
RIESZ_WITH_CONSTANT(<)
RIESZ_WITH_CONSTANT(>)
RIESZ_WITH_CONSTANT(<=)
RIESZ_WITH_CONSTANT(>=)
RIESZ_WITH_CONSTANT(==)
RIESZ_WITH_CONSTANT(!=)
#undef RIESZ_WITH_CONSTANT

template <typename Mask, typename T, unsigned A, detail::Constant C>
RIESZ_ELEMENT auto where(const Mask& holds, const Dual<T, A>& a, C b) {
  return where(holds, a, Dual<T, 0>(static_cast<double>(b)));
}
template <typename Mask, typename T, unsigned B, detail::Constant C>
RIESZ_ELEMENT auto where(const Mask& holds, C a, const Dual<T, B>& b) {
  return where(holds, Dual<T, 0>(static_cast<double>(a)), b);
}

}  // namespace riesz
