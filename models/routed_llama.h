// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/llama.h"
#include "riesz/models/routed.h"
#include "riesz/nn/loss/predictions.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C): a Llama's block with a mixture of experts in the place of its MLP.
template <typename Mixture, typename Sizes>
class RoutedBlock : public Part<RoutedBlock<Mixture, Sizes>, Sizes> {
  using Base = Part<RoutedBlock<Mixture, Sizes>, Sizes>;

 public:
  using Base::Base;
  RoutedStream forward(const RoutedStream& in) {
    const Vector x = in.x + self_attn_(input_layernorm_(in.x));
    const RoutedStream mixed = mixture_(RoutedStream{post_attention_layernorm_(x), in.balance});
    return {x + mixed.x, mixed.balance};
  }
  std::string describe() const override { return concat(Sizes::model, " block"); }

 private:
  using Base::config;
  RmsNorm input_layernorm_{*this, "input_layernorm", "btc", config.epsilon};
  LlamaAttention self_attn_{{*this, "self_attn"}, config};
  RmsNorm post_attention_layernorm_{*this, "post_attention_layernorm", "btc", config.epsilon};
  Mixture mixture_{{*this, Mixture::name}, config};
};

/// A Llama whose blocks have mixtures of experts, under the names and the published shapes of Hugging Face's
/// checkpoints. Written once for all layouts, with or without an axis of experts.
template <typename Mixture, typename Sizes>
class RoutedLlama : public Part<RoutedLlama<Mixture, Sizes>, Sizes> {
  using Base = Part<RoutedLlama<Mixture, Sizes>, Sizes>;

 public:
  using Base::Base;

  /// Token ids of (B, T) → logits of (B, T, V), each of the next token. With them the balance loss times its
  /// weight, if it is added. `last_alone`: (B, 1, V).
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Predictions forward(const Vector& ids, bool last_alone = false) {
    check_context(Sizes::model, ids, config.context);
    const Vector embedded = embed_tokens_(ids);
    const RoutedStream out = layers_(RoutedStream{embedded, GateBalance::none(config.experts, embedded)});
    const Vector x = norm_(out.x);
    const Vector logits = lm_head_(last_alone ? last_position(x, *norm_.range()) : x);
    if (!config.balanced) return logits;
    return {logits, balance_(out.balance)};
  }
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return embed_tokens_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override {
    return concat(in_a_line(Sizes::model, config), ", ", config.experts_per_token, " of ", config.experts,
                  " experts");
  }

 private:
  using Base::config;
  Embedding embed_tokens_{*this, "model.embed_tokens", "bt,vc->btc"};
  Repeated<RoutedBlock<Mixture, Sizes>> layers_{*this, "model.layers", config.layers, config};
  RmsNorm norm_{*this, "model.norm", "btc", config.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config.output(embed_tokens_.weight())};
  RoutedBalance<Sizes> balance_{{lm_head_, "balance"}, config};
};

}  // namespace riesz::models
