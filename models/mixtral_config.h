// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/routed_llama.h"
#include "riesz/nn/experts/experts.h"

namespace riesz::models {

/// A Mixtral's sizes: a Llama's, where `hidden` is the inner width of an expert, and its experts'. Those that
/// stand here without another are those of Mixtral 8x7B.
struct MixtralConfig : LlamaConfig, RoutedSizes {
  static constexpr const char* model = "Mixtral";

  MixtralConfig() {
    layers = 32, heads = 32, key_value_heads = 8, width = 4096, hidden = 14336;
    vocabulary = 32000, context = 32768, rotary_base = 1e6, tied = false;
  }

  GateOptions gate() const { return {.k = experts_per_token, .balance = GateOptions::Balance::over_gates}; }
  ExpertsOptions of_experts() const {
    return {.activation = activation, .compute_type = contraction.compute_type};
  }
  /// Its letters are a Llama's, with f for the inner width of an expert. It adds e for experts, and r for the
  /// logits of their router. @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const {
    check_experts(model);
    RIESZ_CHECK(!attention_bias && !mlp_bias, model, ": attention_bias or mlp_bias is set; it has no biases");
    Roles all = LlamaConfig::roles(model);
    all['e'] = {expert_role(), experts};
    all['r'] = {Role::whole, experts};
    return all;
  }
};

}  // namespace riesz::models
