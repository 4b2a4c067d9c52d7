// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "riesz/models/qwen2_moe_config.h"
#include "riesz/models/routed_llama.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C): for each token the sum of its k experts' results, each times its gate value. The
/// shared expert's result, times the sigmoid of a gate of its own, is added. It is computed while tokens are
/// on their way.
class Qwen2MoeExperts : public Part<Qwen2MoeExperts, Qwen2MoeConfig> {
 public:
  static constexpr const char* name = "mlp";  ///< in a block

  using Part::Part;
  RoutedStream forward(const RoutedStream& in) {
    const Routing routing = gate_(to_space(router_(in.x), experts_.gate_space(config.experts)));
    const std::function<Vector(const Vector&)> shared = [this](const Vector& x) {
      const Vector open =
          map("sigmoid", shared_expert_gate_(x), [](const at::Tensor& s) { return s.sigmoid(); });
      return mul(shared_expert_(x), "btc", select(open, 2, 0), "bt");
    };
    return {experts_(in.x, routing, shared), in.balance + routing};
  }
  std::string describe() const override {
    return concat(config.experts_per_token, " of ", config.experts, " experts, and a shared one");
  }

 private:
  Linear router_{*this, "gate", "btc,rc->btr", config.linear(false)};
  TopKGate gate_{{*this, ""}, spaces().mesh(), config.experts, config.gate()};
  Experts experts_{*this, "experts", "btc", "ei", config.of_experts()};
  LlamaMlp shared_expert_{{*this, "shared_expert"}, config};
  Linear shared_expert_gate_{*this, "shared_expert_gate", "btc,oc->bto", config.linear(false)};
};

/// Qwen2-MoE (Yang et al., 2407.10671).
using Qwen2Moe = RoutedLlama<Qwen2MoeExperts, Qwen2MoeConfig>;

}  // namespace riesz::models
