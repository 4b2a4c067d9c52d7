// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/llama.h"
#include "riesz/nn/experts/gate_balance.h"
#include "riesz/nn/loss/predictions.h"

namespace riesz::models {

/// The sizes that models with experts have beside a Llama's.
struct RoutedSizes {
  std::int64_t experts = 8;
  std::int64_t experts_per_token = 2;  ///< k: of the greatest router logits
  double balance_weight = 0.02;        ///< of the loss that balances the experts

  /// @throws Error unless each token can have as many experts.
  void check_experts(const std::string& model) const {
    check_sizes(model, {{"experts", experts}, {"experts_per_token", experts_per_token}});
    RIESZ_CHECK(experts_per_token <= experts, model, ": ", experts_per_token, " experts per token, of ",
                experts, "; give at most as many");
  }
};

/// The stream, (B, T, C), and the balance of the gates so far: each block takes and returns them.
struct RoutedStream {
  Vector x;
  GateBalance balance;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(balance);
  }
};

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

/// The loss that balances the experts of all blocks, times its weight: a scalar. Part of the output layer, so
/// that both lie on a pipeline's last stage.
template <typename Sizes>
class RoutedBalance : public Part<RoutedBalance<Sizes>, Sizes> {
  using Base = Part<RoutedBalance<Sizes>, Sizes>;

 public:
  using Base::Base;
  Vector forward(const GateBalance& balance) {
    const Sizes& sizes = this->config;
    return sizes.balance_weight * balance.loss(sizes.layers, sizes.experts_per_token);
  }
  std::string describe() const override { return "loss that balances experts"; }
};

/// A Llama whose blocks have mixtures of experts, under the names and the published shapes of Hugging Face's
/// checkpoints. Written once for all layouts, with or without an axis of experts.
template <typename Mixture, typename Sizes>
class RoutedLlama : public Part<RoutedLlama<Mixture, Sizes>, Sizes> {
  using Base = Part<RoutedLlama<Mixture, Sizes>, Sizes>;

 public:
  using Base::Base;

  /// Token ids of (B, T) → logits of (B, T, V), each of the next token, and the loss that balances the
  /// experts, times its weight. `last_alone`: (B, 1, V).
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Predictions forward(const Vector& ids, bool last_alone = false) {
    check_context(Sizes::model, ids, config.context);
    const Vector embedded = embed_tokens_(ids);
    const RoutedStream out = layers_(RoutedStream{embedded, GateBalance::none(config.experts, embedded)});
    const Vector x = norm_(out.x);
    return {lm_head_(last_alone ? last_position(x, *norm_.range()) : x), balance_(out.balance)};
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
  Linear lm_head_{*this,
                  "lm_head",
                  "btc,vc->btv",
                  {.bias = false,
                   .weight = config.tied ? &embed_tokens_.weight() : nullptr,
                   .contraction = config.contraction}};
  RoutedBalance<Sizes> balance_{{lm_head_, "balance"}, config};
};

}  // namespace riesz::models
