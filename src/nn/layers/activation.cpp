// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/activation.h"

#include "riesz/comm/error.h"

namespace riesz {
namespace {

// x/2·(1 + tanh(u)) is x·σ(2u), which has one exp.
constexpr double kTwiceRoot2OverPi = 1.59576912160573071;
const auto kGelu = [](auto x) { return x * sigmoid(kTwiceRoot2OverPi * x * (1.0 + 0.044715 * square(x))); };
const auto kGeluExact = [](auto x) { return x * normal_cdf(x); };
const auto kRelu = [](auto x) { return max(x, 0.0); };
const auto kSilu = [](auto x) { return x * sigmoid(x); };

const Activation& own(const std::string& name) {
  static const auto& gelu = *new Activation("gelu", kGelu);
  static const auto& gelu_exact = *new Activation("gelu_exact", kGeluExact);
  static const auto& relu = *new Activation("relu", kRelu);
  static const auto& silu = *new Activation("silu", kSilu);
  if (name == "gelu") return gelu;
  if (name == "gelu_exact") return gelu_exact;
  if (name == "relu") return relu;
  RIESZ_CHECK(name == "silu", "there is no activation \"", name,
              "\"; there are gelu, gelu_exact, relu, silu");
  return silu;
}

}  // namespace

const Activation::SharedForms& Activation::named(const std::string& name) { return own(name).forms_; }

Vector gelu(const Vector& x) { return activate(own("gelu"), x); }
Vector gelu_exact(const Vector& x) { return activate(own("gelu_exact"), x); }
Vector relu(const Vector& x) { return activate(own("relu"), x); }
Vector silu(const Vector& x) { return activate(own("silu"), x); }

}  // namespace riesz
