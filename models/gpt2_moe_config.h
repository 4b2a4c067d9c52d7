// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/min_gpt_config.h"
#include "riesz/models/routed.h"

namespace riesz::models {

/// The sizes of a GPT-2 with experts: minGPT's, where `hidden` is the inner width of an expert too, and its
/// experts'.
struct Gpt2MoeConfig : MinGptConfig, RoutedSizes {
  static constexpr const char* model = "GPT-2 with experts";

  Gpt2MoeConfig() { balance_weight = 0.01, balanced = true; }

  /// Which blocks have experts: the n-th, the 2n-th and so on (decoder_sparse_step); 1: all.
  std::int64_t experts_every = 2;
  /// In training an expert takes at most ⌈capacity_factor·k·N/E⌉ choices of a micro-batch's N tokens, but at
  /// least 4. First choices come before second ones, then earlier tokens. 0: it takes all.
  double capacity_factor = 0;
  double z_weight = 0;  ///< of the mean of (log Σ exp(logits))² over tokens and blocks with experts

  bool has_experts(std::int64_t block) const { return (block + 1) % experts_every == 0; }
  std::int64_t mixtures() const { return layers / experts_every; }
  /// With k = 1 the gate value is the probability, as in Switch, so the router learns from the tokens' loss.
  GateOptions gate() const {
    return {.k = experts_per_token,
            .renormalise = experts_per_token > 1,
            .drop = capacity_factor > 0 ? GateOptions::Drop::position : GateOptions::Drop::none,
            .drops_always = false,
            .capacity_factor = capacity_factor,
            .balance = balance(),
            .z_weight = z_weight / static_cast<double>(mixtures())};
  }
  ExpertsOptions of_experts() const {
    return {.activation = activation,
            .gated = false,
            .initial = linear().initial,
            .initial_down = back_to_stream().initial,
            .up = "c_fc.weight",
            .down = "c_proj.weight",
            .transposed = true,
            .up_bias = "c_fc.bias",
            .down_bias = "c_proj.bias",
            .compute_type = contraction.compute_type};
  }
  /// Its letters are minGPT's, with e for experts and r for the logits of their router.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const {
    check_experts(model);
    check_sizes(model, {{"experts_every", experts_every}});
    RIESZ_CHECK(experts_every <= layers, model, ": experts in every block number ", experts_every, " of ",
                layers, " are in none; give at most as many as there are blocks");
    Roles all = MinGptConfig::roles();
    add_roles(all);
    return all;
  }
};

}  // namespace riesz::models
