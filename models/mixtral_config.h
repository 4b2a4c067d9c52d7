// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/llama_config.h"
#include "riesz/models/routed.h"

namespace riesz::models {

/// A Mixtral's sizes: a Llama's, where `hidden` is the inner width of an expert, and its experts'. Those that
/// stand here without another are those of Mixtral 8x7B.
struct MixtralConfig : LlamaConfig, RoutedSizes {
  static constexpr const char* model = "Mixtral";

  MixtralConfig() {
    layers = 32, heads = 32, key_value_heads = 8, width = 4096, hidden = 14336;
    vocabulary = 32000, context = 32768, rotary_base = 1e6, tied = false;
  }

  std::int64_t mixtures() const { return layers; }
  GateOptions gate() const { return {.k = experts_per_token, .balance = balance()}; }
  ExpertsOptions of_experts() const {
    return {.activation = activation, .compute_type = contraction.compute_type};
  }
  /// Its letters are a Llama's, with f for the inner width of an expert. It adds e for experts, and r for the
  /// logits of their router.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const {
    check_experts(model);
    RIESZ_CHECK(!attention_bias && !mlp_bias, model, ": attention_bias or mlp_bias is set; it has no biases");
    Roles all = LlamaConfig::roles(model);
    add_roles(all);
    return all;
  }
};

}  // namespace riesz::models
