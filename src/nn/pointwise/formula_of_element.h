// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "riesz/comm/kernels/stored.h"
#include "riesz/nn/pointwise/device_formula.h"
#include "riesz/nn/pointwise/element.h"
#include "riesz/nn/pointwise/seeded.h"

// The kernels of a formula for one element, in device code.
namespace riesz::detail {

/// Input k of element i.
template <typename T>
RIESZ_ELEMENT Number<kernels::Wide<T>> input_of(const FormulaArguments& of, std::size_t k, std::int64_t i) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 31;  // up to which division is fast
  const std::int64_t period = of.period[k];
  const std::int64_t at =
      i < period   ? i
      : i < kSmall ? std::int64_t{static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(period)}
                   : i % period;
  return Number<kernels::Wide<T>>(kernels::widened(static_cast<const T*>(of.in[k])[at]));
}

template <typename F, std::size_t N, typename T, typename = std::make_index_sequence<N>>
struct ValueOfElement;
template <typename F, std::size_t N, typename T, std::size_t... I>
struct ValueOfElement<F, N, T, std::index_sequence<I...>> {
  FormulaArguments of;

  RIESZ_ELEMENT void operator()(std::int64_t i) const {
    using X = Number<kernels::Wide<T>>;
    const F& f = *reinterpret_cast<const F*>(of.formula);
    const X y(f(input_of<T>(of, I, i)...));
    static_cast<T*>(of.out[0])[i] = kernels::narrowed<T>(y.v);
  }
};

template <typename F, std::size_t N, typename T, typename = std::make_index_sequence<N>>
struct GradientsOfElement;
template <typename F, std::size_t N, typename T, std::size_t... I>
struct GradientsOfElement<F, N, T, std::index_sequence<I...>> {
  FormulaArguments of;

  RIESZ_ELEMENT void operator()(std::int64_t i) const {
    using X = Number<kernels::Wide<T>>;
    const F& f = *reinterpret_cast<const F*>(of.formula);
    const X ybar(kernels::widened(static_cast<const T*>(of.ybar)[i]));
    const auto y = f(seeded<I>(input_of<T>(of, I, i))...);
    (give(I, i, ybar * X(derivative<I, X>(y))), ...);
  }

 private:
  RIESZ_ELEMENT void give(std::size_t k, std::int64_t i, const Number<kernels::Wide<T>>& xbar) const {
    if (of.out[k] == nullptr) return;
    if (of.wide[k])
      static_cast<kernels::Wide<T>*>(of.out[k])[i] = xbar.v;
    else
      static_cast<T*>(of.out[k])[i] = kernels::narrowed<T>(xbar.v);
  }
};

}  // namespace riesz::detail
