// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/models/gpt2_moe_config.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/predictions.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz::models {

/// The stream, and of the gates so far the balance and the sum of their own losses.
struct Gpt2MoeStream {
  Vector x;
  GateBalance balance;
  Vector loss;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(balance), f(loss);
  }
};

/// (B, T, C) → (B, T, C): for each token the sum of its k experts' results, each times its gate value.
class Gpt2Experts : public Part<Gpt2Experts, Gpt2MoeConfig> {
 public:
  using Part::Part;
  Gpt2MoeStream forward(const Gpt2MoeStream& in) {
    const Routing routing = gate_(to_space(router_(in.x), experts_.gate_space(config.experts)));
    return {dropout_(experts_(in.x, routing)), in.balance + routing, in.loss + routing.loss};
  }
  std::string describe() const override {
    return concat(config.experts_per_token, " of ", config.experts, " experts");
  }

 private:
  Linear router_{*this, "gate", "btc,rc->btr", {.bias = false, .contraction = config.contraction}};
  TopKGate gate_{{*this, ""}, spaces().mesh(), config.experts, config.gate()};
  Experts experts_{*this, "experts", "btc", "ef", config.of_experts()};
  Dropout dropout_{*this, "dropout", config.residual_dropout.value_or(config.dropout)};
};

/// (B, T, C) → (B, T, C): a transformer block of GPT-2 with an MLP or, by its number, with experts.
class Gpt2MoeBlock : public Part<Gpt2MoeBlock, Gpt2MoeConfig> {
 public:
  Gpt2MoeBlock(const OwnerAndName& place, const Gpt2MoeConfig& sizes) : Part(place, sizes) {
    if (sizes.has_experts(std::stoll(place.name)))
      experts_.emplace(OwnerAndName(*this, "mlp"), sizes);
    else
      mlp_.emplace(OwnerAndName(*this, "mlp"), sizes);
  }
  Gpt2MoeStream forward(Gpt2MoeStream in) {
    in.x = in.x + attn_(ln_1_(in.x));
    const Vector n = ln_2_(in.x);
    if (mlp_) return {in.x + (*mlp_)(n), in.balance, in.loss};
    const Gpt2MoeStream mixed = (*experts_)(Gpt2MoeStream{n, in.balance, in.loss});
    return {in.x + mixed.x, mixed.balance, mixed.loss};
  }
  std::string describe() const override {
    return concat("transformer block", experts_ ? " with experts" : "");
  }

 private:
  LayerNorm ln_1_{*this, "ln_1", "btc", config.epsilon};
  SelfAttention attn_{{*this, "attn"}, config};
  LayerNorm ln_2_{*this, "ln_2", "btc", config.epsilon};
  std::optional<Mlp> mlp_;
  std::optional<Gpt2Experts> experts_;
};

/// GPT-2 (as minGPT) with a mixture of experts in the place of some MLPs, as Switch and GShard have it (Fedus
/// et al., 2101.03961; Lepikhin et al., 2006.16668). Names and shapes are those of Hugging Face's GPT-2. An
/// expert has those of its MLP. Written once for all layouts.
class Gpt2Moe : public Part<Gpt2Moe, Gpt2MoeConfig> {
 public:
  using Part::Part;

  /// Token ids of (B, T) → logits of (B, T, V), each of the next token. With them the gates' losses times
  /// their weights, if there are any. `last_alone`: (B, 1, V). Only training drops choices.
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Predictions forward(const Vector& ids, bool last_alone = false) {
    check_context(config.model, ids, config.context);
    const Vector tok = wte_(ids), pos = wpe_(positions_of(ids, wpe_.spaces().stream("t")));
    const Vector embedded = drop_(add(tok, "btc", pos, "tc"));
    const GateBalance none = GateBalance::none(config.experts, embedded);
    const Gpt2MoeStream out = blocks_(Gpt2MoeStream{embedded, none, sum(none.load)});
    const Vector x = ln_f_(out.x);
    const Vector logits = lm_head_(last_alone ? last_position(x, *ln_f_.range()) : x);
    if (!config.balanced && config.z_weight == 0) return logits;
    return {logits, losses_(out.balance, out.loss)};
  }
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return wte_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override {
    return concat(in_a_line(config.model, config), ", ", config.experts_per_token, " of ", config.experts,
                  " experts in ", config.mixtures(), " blocks");
  }

 private:
  Embedding wte_{*this, "transformer.wte", "bt,vc->btc"};
  Embedding wpe_{*this, "transformer.wpe", "t,pc->tc"};
  Dropout drop_{*this, "transformer.drop", config.embedding_dropout.value_or(config.dropout)};
  Repeated<Gpt2MoeBlock> blocks_{*this, "transformer.h", config.layers, config};
  LayerNorm ln_f_{*this, "transformer.ln_f", "btc", config.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config.output(wte_.weight())};
  RoutedBalance<Gpt2MoeConfig> losses_{{lm_head_, "balance"}, config};
};

}  // namespace riesz::models
