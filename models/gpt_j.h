// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/key_value_cache.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::models {

/// GPT-J's sizes; the defaults are those of GPT-J 6B.
struct GptJConfig {
  std::int64_t layers = 28;
  std::int64_t heads = 16;
  std::int64_t width = 4096;  ///< C; a multiple of heads
  std::int64_t hidden = 0;    ///< of the MLP; 0: 4C
  std::int64_t vocabulary = 50400;
  std::int64_t context = 2048;    ///< the longest sequence
  std::int64_t rotary_dims = 64;  ///< of each head's, the first so many turn
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  std::string activation = "gelu";      ///< of the MLP, as `activate` names it
  double epsilon = 1e-5;                ///< of the layer norms
  ContractionOptions contraction = {};  ///< of all linear layers

  /// Its letters: b batch, t sequence, c width, h heads of d, f the MLP's width, v the vocabulary.
  /// @throws Error unless the width is a multiple of the heads and all sizes are at least 1.
  Roles roles() const;
  LinearOptions linear(bool bias) const;
};

/// (B, T, C) → (B, T, C), as a term of the block's sum: causal self-attention, in which part of each head
/// turns with the position.
class GptJAttention : public Layer<GptJAttention> {
 public:
  GptJAttention(OwnerAndName place, const GptJConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x, KeyValueCache* cache) {
    const std::int64_t before = cache != nullptr ? cache->positions() : 0;
    const Vector q = turned(q_proj_(x), before), k = turned(k_proj_(x), before);
    return out_proj_(attend_(q, k, v_proj_(x), AttentionCall{.cache = cache}));
  }
  std::string describe() const override { return "causal self-attention"; }

 private:
  Vector turned(Vector x, std::int64_t before) const {
    return rotary(std::move(x), {.dims = config_.rotary_dims, .offset = before});
  }
  LinearOptions term() const {
    LinearOptions options = config_.linear(false);
    options.terms = true;
    return options;
  }

  GptJConfig config_;
  Linear q_proj_{*this, "q_proj", "btc,hdc->bthd", config_.linear(false)};
  Linear k_proj_{*this, "k_proj", "btc,hdc->bthd", config_.linear(false)};
  Linear v_proj_{*this, "v_proj", "btc,hdc->bthd", config_.linear(false)};
  Attention attend_{*this, "", {.causal = true, .dropout = config_.attention_dropout}};
  Linear out_proj_{*this, "out_proj", "bthd,chd->btc", term()};
};

/// (B, T, C) → (B, T, C), as a term of the block's sum.
class GptJMlp : public Layer<GptJMlp> {
 public:
  GptJMlp(OwnerAndName place, const GptJConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x) { return fc_out_(fc_in_(x, config_.activation)); }
  std::string describe() const override { return "MLP with " + config_.activation; }

 private:
  LinearOptions term() const {
    LinearOptions options = config_.linear(true);
    options.terms = true;
    return options;
  }

  GptJConfig config_;
  Linear fc_in_{*this, "fc_in", "btc,fc->btf", config_.linear(true)};
  Linear fc_out_{*this, "fc_out", "btf,cf->btc", term()};
};

/// (B, T, C) → (B, T, C): both branches read one norm, and their results are summed over workers at once.
/// With dropout each branch has a mask of its own, so each is summed by itself.
class GptJBlock : public Layer<GptJBlock> {
 public:
  GptJBlock(OwnerAndName place, const GptJConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x, KeyValueCache* cache = nullptr) {
    const Vector n = ln_1_(x);
    const Space stream = spaces().stream("btc");
    if (config_.residual_dropout == 0) return x + to_space(attn_(n, cache) + mlp_(n), stream);
    return x + attn_dropout_(to_space(attn_(n, cache), stream)) + mlp_dropout_(to_space(mlp_(n), stream));
  }
  std::string describe() const override { return "transformer block, its branches side by side"; }

 private:
  GptJConfig config_;
  LayerNorm ln_1_{*this, "ln_1", "btc", config_.epsilon};
  GptJAttention attn_{{*this, "attn"}, config_};
  Dropout attn_dropout_{*this, "attn.resid_dropout", config_.residual_dropout};
  GptJMlp mlp_{{*this, "mlp"}, config_};
  Dropout mlp_dropout_{*this, "mlp.dropout", config_.residual_dropout};
};

/// GPT-J (Wang and Komatsuzaki, 2021), under the names and the published shapes of Hugging Face's
/// checkpoints. Written once for all layouts.
class GptJ : public Layer<GptJ> {
 public:
  GptJ(const Layout& layout, const GptJConfig& config) : GptJ(ModelSpaces(layout, config.roles()), config) {}
  /// With some vectors or weights elsewhere.
  /// @throws Error unless the letters have the config's roles.
  GptJ(const ModelSpaces& spaces, const GptJConfig& config) : Layer("", spaces), config_(config) {}

  /// Token ids of (B, T), T at most the context → logits of (B, T, V), each of the next token.
  /// @throws Error naming T and the context where T is greater.
  Vector forward(const Vector& ids);
  /// The same of the tokens that follow those in the caches, one cache a block. The context counts those too.
  /// With `last_alone` only the logits behind the last token, (B, 1, V).
  Vector forward(const Vector& ids, std::vector<KeyValueCache>& caches, bool last_alone = false);

  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  Space tokens() const { return wte_.spaces().stream("bt"); }
  Space targets() const { return lm_head_.spaces().inside("bt"); }
  std::string describe() const override;

 private:
  /// (B, T) → (B, T, C): of tokens at positions from `first` on.
  Vector embed(const Vector& ids, std::int64_t first);

  GptJConfig config_;
  Embedding wte_{*this, "transformer.wte", "bt,vc->btc"};
  Dropout drop_{*this, "transformer.drop", config_.embedding_dropout};
  Repeated<GptJBlock> blocks_{*this, "transformer.h", config_.layers, config_};
  LayerNorm ln_f_{*this, "transformer.ln_f", "btc", config_.epsilon};
  Linear lm_head_{*this, "lm_head", "btc,vc->btv", config_.linear(true)};
};

}  // namespace riesz::models
