// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/key_value_cache.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/arithmetic.h"

namespace riesz::models {

/// A Llama's sizes; the defaults are those of SmolLM2 135M.
struct LlamaConfig {
  std::int64_t layers = 30;
  std::int64_t heads = 9;
  std::int64_t key_value_heads = 3;  ///< heads is a multiple
  std::int64_t width = 576;          ///< C
  std::int64_t head_width = 0;       ///< of each head; 0: C / heads
  std::int64_t hidden = 1536;        ///< of the MLP
  std::int64_t vocabulary = 49152;
  std::int64_t context = 8192;  ///< the longest sequence
  double rotary_base = 100000;
  std::optional<RotaryScaling> rotary_scaling = {};
  double attention_dropout = 0;
  std::string activation = "silu";      ///< of the MLP's gate, as `activate` names it
  double epsilon = 1e-5;                ///< of the norms
  bool attention_bias = false;          ///< have attention's linear layers a bias?
  bool mlp_bias = false;                ///< have the MLP's?
  bool tied = true;                     ///< is the output layer's weight the token table?
  ContractionOptions contraction = {};  ///< of all linear layers

  /// Its letters: b batch, t sequence, c width, h query heads and g key and value heads of d, f the MLP's
  /// width, v the vocabulary. @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const;
  LinearOptions linear(bool bias) const { return {.bias = bias, .contraction = contraction}; }
};

/// (B, T, C) → (B, T, C): causal self-attention, in which several query heads share a key head.
class LlamaAttention : public Layer<LlamaAttention> {
 public:
  LlamaAttention(OwnerAndName place, const LlamaConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x, KeyValueCache* cache) {
    const std::int64_t before = cache != nullptr ? cache->positions() : 0;
    const Vector q = turned(q_proj_(x), before), k = turned(k_proj_(x), before);
    return o_proj_(attend_(q, k, v_proj_(x), AttentionCall{.cache = cache}));
  }
  std::string describe() const override { return "causal self-attention, key heads shared"; }

 private:
  Vector turned(Vector x, std::int64_t before) const {
    return rotary(std::move(x), {.base = config_.rotary_base,
                                 .offset = before,
                                 .pairs = RotaryPairs::halves,
                                 .scaling = config_.rotary_scaling});
  }

  LlamaConfig config_;
  Linear q_proj_{*this, "q_proj", "btc,hdc->bthd", config_.linear(config_.attention_bias)};
  Linear k_proj_{*this, "k_proj", "btc,gdc->btgd", config_.linear(config_.attention_bias)};
  Linear v_proj_{*this, "v_proj", "btc,gdc->btgd", config_.linear(config_.attention_bias)};
  Attention attend_{*this, "", {.keys = "btgd", .causal = true, .dropout = config_.attention_dropout}};
  Linear o_proj_{*this, "o_proj", "bthd,chd->btc", config_.linear(config_.attention_bias)};
};

/// (B, T, C) → (B, T, C): down(silu(gate(x)) · up(x)).
class LlamaMlp : public Layer<LlamaMlp> {
 public:
  LlamaMlp(OwnerAndName place, const LlamaConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x) {
    return down_proj_(gated(config_.activation, gate_proj_(x), up_proj_(x)));
  }
  std::string describe() const override { return "gated MLP with " + config_.activation; }

 private:
  LlamaConfig config_;
  Linear gate_proj_{*this, "gate_proj", "btc,fc->btf", config_.linear(config_.mlp_bias)};
  Linear up_proj_{*this, "up_proj", "btc,fc->btf", config_.linear(config_.mlp_bias)};
  Linear down_proj_{*this, "down_proj", "btf,cf->btc", config_.linear(config_.mlp_bias)};
};

/// (B, T, C) → (B, T, C).
class LlamaBlock : public Layer<LlamaBlock> {
 public:
  LlamaBlock(OwnerAndName place, const LlamaConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(Vector x, KeyValueCache* cache = nullptr) {
    x = x + self_attn_(input_layernorm_(x), cache);
    return x + mlp_(post_attention_layernorm_(x));
  }
  std::string describe() const override { return "Llama block"; }

 private:
  LlamaConfig config_;
  RmsNorm input_layernorm_{*this, "input_layernorm", "btc", config_.epsilon};
  LlamaAttention self_attn_{{*this, "self_attn"}, config_};
  RmsNorm post_attention_layernorm_{*this, "post_attention_layernorm", "btc", config_.epsilon};
  LlamaMlp mlp_{{*this, "mlp"}, config_};
};

/// The Llama family (Touvron et al., 2302.13971): Llama 1 to 3, TinyLlama, SmolLM2 and their like, under the
/// names and the published shapes of Hugging Face's checkpoints. Written once for all layouts.
class Llama : public Layer<Llama> {
 public:
  Llama(const Layout& layout, const LlamaConfig& config)
      : Llama(ModelSpaces(layout, config.roles()), config) {}
  /// With some vectors or weights elsewhere. @throws Error unless the letters have the config's roles.
  Llama(const ModelSpaces& spaces, const LlamaConfig& config);

  /// Token ids of (B, T), T at most the context → logits of (B, T, V), each of the next token.
  /// @throws Error naming T and the context where T is greater.
  Vector forward(const Vector& ids);
  /// The same of the tokens that follow those in the caches, one cache a block. The context counts those too.
  /// With `last_alone` only the logits behind the last token, (B, 1, V).
  Vector forward(const Vector& ids, std::vector<KeyValueCache>& caches, bool last_alone = false);

  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return embed_tokens_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override;

 private:
  /// (B, T) → (B, T, C): of tokens at positions from `first` on.
  Vector embed(const Vector& ids, std::int64_t first);

  LlamaConfig config_;
  Embedding embed_tokens_{*this, "model.embed_tokens", "bt,vc->btc"};
  Repeated<LlamaBlock> layers_{*this, "model.layers", config_.layers, config_};
  RmsNorm norm_{*this, "model.norm", "btc", config_.epsilon};
  Linear lm_head_;
};

}  // namespace riesz::models
