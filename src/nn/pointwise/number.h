// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "riesz/nn/kernels/lane_math.h"

namespace riesz {

/// The result of a comparison, by which `where` chooses. Each lane has 1 if it holds, else 0. && and || add
/// lanes, because g++ 12 with AVX-512 computes combined masks one lane at a time.
template <typename V>
class Condition {
 public:
  using Stored = std::conditional_t<std::is_floating_point_v<V>, bool, V>;

  RIESZ_ELEMENT explicit Condition(const Stored& m) : m_(m) {}
  RIESZ_ELEMENT Condition(const Condition& other) : m_(other.m_) {}
  RIESZ_ELEMENT Condition& operator=(const Condition& other) {
    m_ = other.m_;
    return *this;
  }
  RIESZ_ELEMENT const Stored& m() const { return m_; }

  friend RIESZ_ELEMENT Condition operator&&(const Condition& a, const Condition& b) {
    const Stored no{}, yes = static_cast<Stored>(no + 1);
    return Condition(a.m_ + b.m_ > yes ? yes : no);
  }
  friend RIESZ_ELEMENT Condition operator||(const Condition& a, const Condition& b) {
    const Stored no{}, yes = static_cast<Stored>(no + 1);
    return Condition(a.m_ + b.m_ != no ? yes : no);
  }
  friend RIESZ_ELEMENT Condition operator!(const Condition& a) {
    const Stored no{}, yes = static_cast<Stored>(no + 1);
    return Condition(a.m_ != no ? no : yes);
  }

  /// Conversion, as `if` and `?:` need it, fails to compile with a hint to use `where`.
  template <typename T>
  operator T() const {
    static_assert(!std::same_as<T, T>, "in a formula write where(condition, a, b) in place of if and ?:");
    return {};
  }

 private:
  Stored m_;
};

/// An element of a point-wise formula, or several that are computed at once. V: double, float, or lanes of
/// floats. A formula sees this type, `Dual` or `Expression`, all with the functions below and a conversion
/// from double. Copies are user-defined, so lanes are passed in memory until inlined, and no ABI depends on
/// the processor.
template <typename V>
class Number {
 public:
  using Mask = Condition<V>;
  using Stored = typename Mask::Stored;

  RIESZ_ELEMENT Number() {}
  RIESZ_ELEMENT Number(double c) : v(static_cast<Scalar>(c) - V{}) {}
  RIESZ_ELEMENT explicit Number(const V& of) requires(!std::same_as<V, double>) : v(of) {}
  RIESZ_ELEMENT Number(const Number& other) : v(other.v) {}
  RIESZ_ELEMENT Number& operator=(const Number& other) {
    v = other.v;
    return *this;
  }

  friend RIESZ_ELEMENT Number operator+(const Number& a, const Number& b) { return of(a.v + b.v); }
  friend RIESZ_ELEMENT Number operator-(const Number& a, const Number& b) { return of(a.v - b.v); }
  friend RIESZ_ELEMENT Number operator*(const Number& a, const Number& b) { return of(a.v * b.v); }
  friend RIESZ_ELEMENT Number operator/(const Number& a, const Number& b) { return of(a.v / b.v); }
  friend RIESZ_ELEMENT Number operator-(const Number& a) { return of(-a.v); }

#define RIESZ_COMPARES(op)                                                  \
  friend RIESZ_ELEMENT Mask operator op(const Number& a, const Number& b) { \
    const Stored no{}, yes = static_cast<Stored>(no + 1);                   \
    return Mask(a.v op b.v ? yes : no);                                     \
  }
  RIESZ_COMPARES(<)
  RIESZ_COMPARES(>)
  RIESZ_COMPARES(<=)
  RIESZ_COMPARES(>=)
  RIESZ_COMPARES(==)
  RIESZ_COMPARES(!=)
#undef RIESZ_COMPARES
  friend RIESZ_ELEMENT Number where(const Mask& holds, const Number& a, const Number& b) {
    return of(holds.m() != Stored{} ? a.v : b.v);
  }

  friend RIESZ_ELEMENT Number exp(const Number& x) {
    if constexpr (kPlain)
      return of(std::exp(x.v));
    else
      return made([&](V& y) { detail::exp_of(x.v, y); });
  }
  friend RIESZ_ELEMENT Number log(const Number& x) {
    if constexpr (kPlain)
      return of(std::log(x.v));
    else
      return made([&](V& y) { detail::log_of(x.v, y); });
  }
  friend RIESZ_ELEMENT Number tanh(const Number& x) {
    if constexpr (kPlain)
      return of(std::tanh(x.v));
    else
      return made([&](V& y) { detail::tanh_of(x.v, y); });
  }
  friend RIESZ_ELEMENT Number erf(const Number& x) {
    if constexpr (kPlain)
      return of(std::erf(x.v));
    else
      return made([&](V& y) { detail::erf_of(x.v, y); });
  }
  /// Φ(x), and exp(−x²/2).
  friend RIESZ_ELEMENT Number normal_cdf(const Number& x, Number& bell) {
    if constexpr (kPlain) {
      bell = of(std::exp(x.v * x.v * Scalar(-0.5)));
      return of(std::erfc(x.v * Scalar(-0.70710678118654752)) * Scalar(0.5));
    } else {
      return made([&](V& y) { detail::normal_cdf_of(x.v, y, bell.v); });
    }
  }
  friend RIESZ_ELEMENT Number sqrt(const Number& x) {
    if constexpr (kPlain)
      return of(std::sqrt(x.v));
    else
      return made([&](V& y) { detail::sqrt_of(x.v, y); });
  }
  friend RIESZ_ELEMENT Number abs(const Number& x) {
    if constexpr (kPlain)
      return of(std::abs(x.v));
    else
      return made([&](V& y) { detail::abs_of(x.v, y); });
  }

  V v;

 private:
#if defined(__CUDACC__)
  // A thread of a device computes one float with the functions of lanes.
  static constexpr bool kPlain = std::same_as<V, double>;
#else
  static constexpr bool kPlain = std::floating_point<V>;
#endif
  using Scalar = std::conditional_t<std::same_as<V, double>, double, float>;

  static RIESZ_ELEMENT Number of(const V& v) {
    Number y;
    y.v = v;
    return y;
  }
  template <typename Function>
  static RIESZ_ELEMENT Number made(const Function& function) {
    Number y;
    function(y.v);
    return y;
  }
};

}  // namespace riesz
