// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/mixtral_config.h"
#include "riesz/models/routed_llama.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C): for each token the sum of its k experts' results, each times its gate value. That
/// is the softmax over all logits, divided by its sum over the k chosen.
class MixtralExperts : public Part<MixtralExperts, MixtralConfig> {
 public:
  static constexpr const char* name = "block_sparse_moe";  ///< in a block

  using Part::Part;
  RoutedStream forward(const RoutedStream& in) {
    const Routing routing = gate_(to_space(router_(in.x), experts_.gate_space(config.experts)));
    return {experts_(in.x, routing), in.balance + routing};
  }
  std::string describe() const override {
    return concat(config.experts_per_token, " of ", config.experts, " experts");
  }

 private:
  Linear router_{*this, "gate", "btc,rc->btr", config.linear(false)};
  TopKGate gate_{{*this, ""}, spaces().mesh(), config.experts, config.gate()};
  Experts experts_{*this, "experts", "btc", "ef", config.of_experts()};
};

/// Mixtral (Jiang et al., 2401.04088).
using Mixtral = RoutedLlama<MixtralExperts, MixtralConfig>;

}  // namespace riesz::models
