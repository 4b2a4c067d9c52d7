// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/llama_config.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C): causal self-attention, in which several query heads share a key head.
class LlamaAttention : public Part<LlamaAttention, LlamaConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) {
    const RotaryOptions at_positions{.base = config.rotary_base,
                                     .offset = first_position(),
                                     .pairs = RotaryPairs::halves,
                                     .scaling = config.rotary_scaling};
    const Vector q = rotary(q_proj_(x), at_positions), k = rotary(k_proj_(x), at_positions);
    return o_proj_(attend_(q, k, v_proj_(x)));
  }
  std::string describe() const override { return "causal self-attention, key heads shared"; }

 private:
  Linear q_proj_{*this, "q_proj", "btc,hdc->bthd", config.linear(config.attention_bias)};
  Linear k_proj_{*this, "k_proj", "btc,gdc->btgd", config.linear(config.attention_bias)};
  Linear v_proj_{*this, "v_proj", "btc,gdc->btgd", config.linear(config.attention_bias)};
  Attention attend_{*this, "", {.keys = "btgd", .causal = true, .dropout = config.attention_dropout}};
  Linear o_proj_{*this, "o_proj", "bthd,chd->btc", config.linear(config.attention_bias&& config.output_bias)};
};

/// (B, T, C) → (B, T, C): down(silu(gate(x)) · up(x)).
class LlamaMlp : public Part<LlamaMlp, LlamaConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return down_proj_(gated(config.activation, gate_proj_(x), up_proj_(x))); }
  std::string describe() const override { return "gated MLP with " + config.activation; }

 private:
  Linear gate_proj_{*this, "gate_proj", "btc,fc->btf", config.linear(config.mlp_bias)};
  Linear up_proj_{*this, "up_proj", "btc,fc->btf", config.linear(config.mlp_bias)};
  Linear down_proj_{*this, "down_proj", "btf,cf->btc", config.linear(config.mlp_bias)};
};

/// (B, T, C) → (B, T, C).
class LlamaBlock : public Part<LlamaBlock, LlamaConfig> {
 public:
  using Part::Part;
  Vector forward(Vector x) {
    x = x + self_attn_(input_layernorm_(x));
    return x + mlp_(post_attention_layernorm_(x));
  }
  std::string describe() const override { return "Llama block"; }

 private:
  RmsNorm input_layernorm_{*this, "input_layernorm", "btc", config.epsilon};
  LlamaAttention self_attn_{{*this, "self_attn"}, config};
  RmsNorm post_attention_layernorm_{*this, "post_attention_layernorm", "btc", config.epsilon};
  LlamaMlp mlp_{{*this, "mlp"}, config};
};

/// The Llama family (Touvron et al., 2302.13971): Llama 1 to 3, TinyLlama, SmolLM2 and their like, under the
/// names and the published shapes of Hugging Face's checkpoints. Written once for all layouts.
class Llama : public Part<Llama, LlamaConfig> {
 public:
  using Part::Part;

  /// Token ids of (B, T) → logits of (B, T, V), each of the next token. `last_alone`: (B, 1, V).
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Vector forward(const Vector& ids, bool last_alone = false) {
    check_context("Llama", ids, config.context);
    const Vector x = norm_(layers_(embed_tokens_(ids)));
    return lm_head_(last_alone ? last_position(x, *norm_.range()) : x);
  }
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return embed_tokens_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override {
    return concat("Llama: ", config.layers, " layers, ", config.heads, " heads, ", config.key_value_heads,
                  " of keys, width ", config.width, ", vocabulary ", config.vocabulary, ", context ",
                  config.context);
  }

 private:
  Embedding embed_tokens_{*this, "model.embed_tokens", "bt,vc->btc"};
  Repeated<LlamaBlock> layers_{*this, "model.layers", config.layers, config};
  RmsNorm norm_{*this, "model.norm", "btc", config.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config.output(embed_tokens_.weight())};
};

}  // namespace riesz::models
