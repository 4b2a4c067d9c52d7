// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "riesz/nn/pointwise/device_formula.h"
#include "riesz/nn/pointwise/element.h"
#include "riesz/nn/pointwise/expression.h"
#include "riesz/nn/pointwise/seeded.h"

namespace riesz::detail {

/// A formula on a strip of n elements: in[i] has those of input i, out what is computed, one after another.
template <typename T>
using Strip = void (*)(const void* formula, const T* const* in, T* const* out, std::int64_t n);

/// The functions that a formula is compiled to. `value` reads the inputs and writes y. `gradients` reads the
/// inputs and ȳ and writes each x̄ whose pointer is not null. The next two use LibTorch's operators; each x̄
/// has y's shape, not yet summed over broadcast dims. The last two are how a device's library knows it.
struct FormulaKernels {
  Strip<float> value_float, gradients_float;
  Strip<double> value_double, gradients_double;
  Expression (*value)(const void* formula, const std::vector<Expression>& inputs);
  std::vector<Expression> (*gradients)(const void* formula, const std::vector<Expression>& inputs,
                                       const Expression& ybar);
  const char* name_there;  ///< of DeviceFormula<F, N>
  std::size_t bytes;       ///< of F
};

/// Loads at most `left` elements; the other lanes are 0.
template <typename V, typename Scalar>
RIESZ_ELEMENT Number<V> some_of(const Scalar* from, std::int64_t left) {
  Number<V> x;
  constexpr auto kWide = static_cast<std::int64_t>(sizeof(V) / sizeof(Scalar));
  if (left >= kWide) {
    std::memcpy(&x.v, from, sizeof(V));
  } else {
    Scalar some[kWide] = {};
    std::memcpy(some, from, static_cast<std::size_t>(left) * sizeof(Scalar));
    std::memcpy(&x.v, some, sizeof(V));
  }
  return x;
}

template <typename V, typename Scalar>
RIESZ_ELEMENT void store_some(const Number<V>& x, Scalar* to, std::int64_t left) {
  constexpr auto kWide = static_cast<std::int64_t>(sizeof(V) / sizeof(Scalar));
  if (left >= kWide) {
    std::memcpy(to, &x.v, sizeof(V));
  } else {
    Scalar some[kWide];
    std::memcpy(some, &x.v, sizeof(V));
    std::memcpy(to, some, static_cast<std::size_t>(left) * sizeof(Scalar));
  }
}

template <typename V, typename Scalar, typename F, std::size_t... I>
RIESZ_ELEMENT void value_strip(const void* formula, const Scalar* const* in, Scalar* const* out,
                               std::int64_t n, std::index_sequence<I...>) {
  const F& f = *static_cast<const F*>(formula);
  const Scalar* const x[] = {in[I]...};
  Scalar* const y = out[0];
  for (std::int64_t at = 0; at < n; at += static_cast<std::int64_t>(sizeof(V) / sizeof(Scalar)))
    store_some<V>(Number<V>(f(some_of<V>(x[I] + at, n - at)...)), y + at, n - at);
}

template <typename V, typename Scalar, typename F, std::size_t... I>
RIESZ_ELEMENT void gradient_strip(const void* formula, const Scalar* const* in, Scalar* const* out,
                                  std::int64_t n, std::index_sequence<I...>) {
  const F& f = *static_cast<const F*>(formula);
  const Scalar* const x[] = {in[I]...};
  const Scalar* const ybar = in[sizeof...(I)];
  Scalar* const xbar[] = {out[I]...};
  for (std::int64_t at = 0; at < n; at += static_cast<std::int64_t>(sizeof(V) / sizeof(Scalar))) {
    const std::int64_t left = n - at;
    const Number<V> g = some_of<V>(ybar + at, left);
    const auto y = f(seeded<I>(some_of<V>(x[I] + at, left))...);
    ((xbar[I] != nullptr ? store_some<V>(g * Number<V>(derivative<I, Number<V>>(y)), xbar[I] + at, left)
                         : void()),
     ...);
  }
}

template <typename F, std::size_t N>
struct Compiled {
  using Inputs = std::make_index_sequence<N>;

#define RIESZ_STRIPS(name, target, V)                                                                 \
  target __attribute__((flatten)) static void value_##name(const void* f, const float* const* in,     \
                                                           float* const* out, std::int64_t n) {       \
    value_strip<V, float, F>(f, in, out, n, Inputs{});                                                \
  }                                                                                                   \
  target __attribute__((flatten)) static void gradients_##name(const void* f, const float* const* in, \
                                                               float* const* out, std::int64_t n) {   \
    gradient_strip<V, float, F>(f, in, out, n, Inputs{});                                             \
  }
  RIESZ_STRIPS(plainly, , HalfLanes)
  RIESZ_STRIPS(by_avx2, RIESZ_FOR_AVX2, HalfLanes)
  RIESZ_STRIPS(by_avx512, RIESZ_FOR_AVX512, Lanes)
#undef RIESZ_STRIPS

  static void value_double(const void* f, const double* const* in, double* const* out, std::int64_t n) {
    value_strip<double, double, F>(f, in, out, n, Inputs{});
  }
  static void gradients_double(const void* f, const double* const* in, double* const* out, std::int64_t n) {
    gradient_strip<double, double, F>(f, in, out, n, Inputs{});
  }

  template <std::size_t... I>
  static Expression called(const F& f, const std::vector<Expression>& x, std::index_sequence<I...>) {
    return Expression(f(x[I]...));
  }
  static Expression value(const void* f, const std::vector<Expression>& x) {
    return called(*static_cast<const F*>(f), x, Inputs{});
  }

  template <std::size_t... I>
  static std::vector<Expression> derivatives(const F& f, const std::vector<Expression>& x,
                                             const Expression& ybar, std::index_sequence<I...>) {
    const auto y = f(seeded<I>(x[I])...);
    return {ybar * Expression(derivative<I, Expression>(y))...};
  }
  static std::vector<Expression> gradients(const void* f, const std::vector<Expression>& x,
                                           const Expression& ybar) {
    return derivatives(*static_cast<const F*>(f), x, ybar, Inputs{});
  }

  static const FormulaKernels& kernels() {
    static const FormulaKernels all{
        for_this_processor(value_plainly, value_by_avx2, value_by_avx512),
        for_this_processor(gradients_plainly, gradients_by_avx2, gradients_by_avx512),
        value_double,
        gradients_double,
        value,
        gradients,
        typeid(DeviceFormula<F, N>).name(),
        sizeof(F)};
    return all;
  }
};

/// A compiled formula, with its constants.
struct Formula {
  std::string name;
  std::shared_ptr<const void> f;
  const FormulaKernels* kernels;
};

template <std::size_t N, typename F, typename = std::make_index_sequence<N>>
inline constexpr bool takes = false;
template <std::size_t N, typename F, std::size_t... I>
inline constexpr bool takes<N, F, std::index_sequence<I...>> =
    std::is_invocable_v<const F&, decltype((void(I), Expression(0.0)))...>;

template <std::size_t N, typename F>
Formula formula(std::string name, F f) {
  static_assert(std::is_trivially_copyable_v<F>,
                "a formula captures numbers alone; what it reads by element is a vector, given beside it");
  static_assert(takes<N, F>, "a formula has one argument, auto, for each vector that it is given");
  return {std::move(name), std::make_shared<const F>(std::move(f)), &Compiled<F, N>::kernels()};
}

}  // namespace riesz::detail
