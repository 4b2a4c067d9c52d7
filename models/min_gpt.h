// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/min_gpt_config.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C): causal self-attention.
class SelfAttention : public Part<SelfAttention, MinGptConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return resid_dropout_(c_proj_(attend_(c_attn_(x)))); }
  std::string describe() const override { return "causal self-attention"; }

 private:
  Linear c_attn_{*this, "c_attn", "btc,cqhd->qbthd", config.linear()};
  Attention attend_{
      *this, "", {.causal = true, .dropout = config.attention_dropout.value_or(config.dropout)}};
  Linear c_proj_{*this, "c_proj", "bthd,hdc->btc", config.back_to_stream()};
  Dropout resid_dropout_{*this, "resid_dropout", config.residual_dropout.value_or(config.dropout)};
};

/// (B, T, C) → (B, T, C): down(gelu(up(x))), or with another activation.
class Mlp : public Part<Mlp, MinGptConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return dropout_(c_proj_(c_fc_(x, config.activation))); }
  std::string describe() const override { return "MLP with " + config.activation; }

 private:
  Linear c_fc_{*this, "c_fc", "btc,cf->btf", config.linear()};
  Linear c_proj_{*this, "c_proj", "btf,fc->btc", config.back_to_stream()};
  Dropout dropout_{*this, "dropout", config.residual_dropout.value_or(config.dropout)};
};

/// (B, T, C) → (B, T, C): a transformer block with the norms first.
class Block : public Part<Block, MinGptConfig> {
 public:
  using Part::Part;
  Vector forward(Vector x) {
    x = x + attn_(ln_1_(x));
    return x + mlp_(ln_2_(x));
  }
  std::string describe() const override { return "transformer block"; }

 private:
  LayerNorm ln_1_{*this, "ln_1", "btc", config.epsilon};
  SelfAttention attn_{{*this, "attn"}, config};
  LayerNorm ln_2_{*this, "ln_2", "btc", config.epsilon};
  Mlp mlp_{{*this, "mlp"}, config};
};

/// minGPT (Karpathy): GPT-2's architecture with an output layer of its own, under the names and the published
/// shapes of Hugging Face's GPT-2 checkpoints. Written once for all layouts.
class MinGpt : public Part<MinGpt, MinGptConfig> {
 public:
  using Part::Part;

  /// Token ids of (B, T) → logits of (B, T, V), each of the next token. `last_alone`: (B, 1, V).
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Vector forward(const Vector& ids, bool last_alone = false) {
    check_context("minGPT", ids, config.context);
    const Vector x = ln_f_(blocks_(embed(ids)));
    return lm_head_(last_alone ? last_position(x, *ln_f_.range()) : x);
  }
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return wte_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override { return in_a_line("minGPT", config); }

 private:
  /// Its terms are let go of before the blocks.
  Vector embed(const Vector& ids) {
    const Vector tok = wte_(ids), pos = wpe_(positions_of(ids, wpe_.spaces().stream("t")));
    return drop_(add(tok, "btc", pos, "tc"));  // (B, T, C) and (T, C)
  }

  Embedding wte_{*this, "transformer.wte", "bt,vc->btc"};
  Embedding wpe_{*this, "transformer.wpe", "t,pc->tc"};
  Dropout drop_{*this, "transformer.drop", config.embedding_dropout.value_or(config.dropout)};
  Repeated<Block> blocks_{*this, "transformer.h", config.layers, config};
  LayerNorm ln_f_{*this, "transformer.ln_f", "btc", config.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config.output(wte_.weight())};
};

}  // namespace riesz::models
