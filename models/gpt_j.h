// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/gpt_j_config.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// (B, T, C) → (B, T, C), as a term of the block's sum: causal self-attention, in which part of each head
/// turns with the position.
class GptJAttention : public Part<GptJAttention, GptJConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) {
    const RotaryOptions at_positions{.dims = config.rotary_dims, .offset = first_position()};
    const Vector q = rotary(q_proj_(x), at_positions), k = rotary(k_proj_(x), at_positions);
    return out_proj_(attend_(q, k, v_proj_(x)));
  }
  std::string describe() const override { return "causal self-attention"; }

 private:
  Linear q_proj_{*this, "q_proj", "btc,hdc->bthd", config.linear(false)};
  Linear k_proj_{*this, "k_proj", "btc,hdc->bthd", config.linear(false)};
  Linear v_proj_{*this, "v_proj", "btc,hdc->bthd", config.linear(false)};
  Attention attend_{*this, "", {.causal = true, .dropout = config.attention_dropout}};
  Linear out_proj_{*this, "out_proj", "bthd,chd->btc", config.linear(false, /*terms=*/true)};
};

/// (B, T, C) → (B, T, C), as a term of the block's sum.
class GptJMlp : public Part<GptJMlp, GptJConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return fc_out_(fc_in_(x, config.activation)); }
  std::string describe() const override { return "MLP with " + config.activation; }

 private:
  Linear fc_in_{*this, "fc_in", "btc,fc->btf", config.linear(true)};
  Linear fc_out_{*this, "fc_out", "btf,cf->btc", config.linear(true, /*terms=*/true)};
};

/// (B, T, C) → (B, T, C): both branches read one norm, and their results are summed over workers at once.
/// With dropout each branch has a mask of its own, so each is summed by itself.
class GptJBlock : public Part<GptJBlock, GptJConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) {
    const Vector n = ln_1_(x);
    const Space stream = spaces().stream("btc");
    if (config.residual_dropout == 0) return x + to_space(attn_(n) + mlp_(n), stream);
    return x + attn_dropout_(to_space(attn_(n), stream)) + mlp_dropout_(to_space(mlp_(n), stream));
  }
  std::string describe() const override { return "transformer block, its branches side by side"; }

 private:
  LayerNorm ln_1_{*this, "ln_1", "btc", config.epsilon};
  GptJAttention attn_{{*this, "attn"}, config};
  Dropout attn_dropout_{*this, "attn.resid_dropout", config.residual_dropout};
  GptJMlp mlp_{{*this, "mlp"}, config};
  Dropout mlp_dropout_{*this, "mlp.dropout", config.residual_dropout};
};

/// GPT-J (Wang and Komatsuzaki, 2021), under the names and the published shapes of Hugging Face's
/// checkpoints. Written once for all layouts.
class GptJ : public Part<GptJ, GptJConfig> {
 public:
  using Part::Part;
  /// Token ids of (B, T) → logits of (B, T, V), each of the next token. `last_alone`: (B, 1, V).
  /// @throws Error naming T, with the positions before, and the context where it is greater.
  Vector forward(const Vector& ids, bool last_alone = false) {
    check_context("GPT-J", ids, config.context);
    const Vector x = ln_f_(blocks_(drop_(wte_(ids))));
    return lm_head_(last_alone ? last_position(x, *ln_f_.range()) : x);
  }
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return wte_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override { return in_a_line("GPT-J", config); }

 private:
  Embedding wte_{*this, "transformer.wte", "bt,vc->btc"};
  Dropout drop_{*this, "transformer.drop", config.embedding_dropout};
  Repeated<GptJBlock> blocks_{*this, "transformer.h", config.layers, config};
  LayerNorm ln_f_{*this, "transformer.ln_f", "btc", config.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config.linear(true)};
};

}  // namespace riesz::models
