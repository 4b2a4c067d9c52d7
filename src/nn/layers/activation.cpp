// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/activation.h"

#include "riesz/comm/error.h"

namespace riesz {
namespace {

const Activation& own(const std::string& name) {
  static const auto& gelu = *new Activation("gelu", detail::GeluFormula{});
  static const auto& gelu_exact = *new Activation("gelu_exact", detail::GeluExactFormula{});
  static const auto& relu = *new Activation("relu", detail::ReluFormula{});
  static const auto& silu = *new Activation("silu", detail::SiluFormula{});
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
