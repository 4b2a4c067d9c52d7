// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/llama_config.h"
#include "riesz/models/routed.h"

namespace riesz::models {

/// A Qwen2-MoE's sizes: a Llama's, where `hidden` is the inner width of the shared expert, and its experts'.
/// Those that stand here without another are those of Qwen1.5-MoE-A2.7B.
struct Qwen2MoeConfig : LlamaConfig, RoutedSizes {
  static constexpr const char* model = "Qwen2-MoE";

  Qwen2MoeConfig() {
    layers = 24, heads = 16, key_value_heads = 16, width = 2048, hidden = 5632;
    vocabulary = 151936, context = 8192, rotary_base = 1e6, epsilon = 1e-6, tied = false;
    attention_bias = true, output_bias = false;
    experts = 60, experts_per_token = 4, balance_weight = 0.001;
  }

  std::int64_t expert_hidden = 1408;  ///< the inner width of an expert
  bool renormalise = false;           ///< divide a token's gate values by their sum?

  std::int64_t mixtures() const { return layers; }
  GateOptions gate() const {
    return {.k = experts_per_token, .renormalise = renormalise, .balance = balance()};
  }
  ExpertsOptions of_experts() const {
    return {.activation = activation,
            .gate = "gate_proj.weight",
            .up = "up_proj.weight",
            .down = "down_proj.weight",
            .compute_type = contraction.compute_type};
  }
  /// Its letters are a Llama's, with f for the inner width of the shared expert. It adds e for experts, i for
  /// their inner width, and r for the logits of their router. The shared expert's gate gives o = 1 number.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const {
    check_experts(model);
    check_sizes(model, {{"expert_hidden", expert_hidden}});
    RIESZ_CHECK(!output_bias && !mlp_bias, model,
                ": output_bias or mlp_bias is set; only q, k and v have biases");
    Roles all = LlamaConfig::roles(model);
    add_roles(all);
    all['i'] = {Role::inner, expert_hidden};
    all['o'] = {Role::whole, 1};
    return all;
  }
};

}  // namespace riesz::models
