// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/kernels/list.h"
#include "riesz/nn/pointwise/device_formula.h"
#include "riesz/nn/pointwise/element.h"

// The formulas of activation.h, as types with names, so that devices' libraries compile them too.
namespace riesz::detail {

struct GeluFormula {
  template <typename X>
  RIESZ_ELEMENT auto operator()(const X& x) const {
    // x/2·(1 + tanh(u)) is x·σ(2u), which has one exp.
    constexpr double kTwiceRoot2OverPi = 1.59576912160573071;
    return x * sigmoid(kTwiceRoot2OverPi * x * (1.0 + 0.044715 * square(x)));
  }
};

struct GeluExactFormula {
  template <typename X>
  RIESZ_ELEMENT auto operator()(const X& x) const {
    return x * normal_cdf(x);
  }
};

struct ReluFormula {
  template <typename X>
  RIESZ_ELEMENT auto operator()(const X& x) const {
    return max(x, 0.0);
  }
};

struct SiluFormula {
  template <typename X>
  RIESZ_ELEMENT auto operator()(const X& x) const {
    return x * sigmoid(x);
  }
};

/// f(x + b)
template <typename F>
struct OfSum {
  F f;
  template <typename X, typename B>
  RIESZ_ELEMENT auto operator()(const X& x, const B& b) const {
    return f(x + b);
  }
};

/// f(g)·u
template <typename F>
struct Gated {
  F f;
  template <typename G, typename U>
  RIESZ_ELEMENT auto operator()(const G& g, const U& u) const {
    return f(g) * u;
  }
};

template <typename F>
using FormsOf =
    kernels::KernelList<DeviceFormula<F, 1>, DeviceFormula<OfSum<F>, 2>, DeviceFormula<Gated<F>, 2>>;

}  // namespace riesz::detail
