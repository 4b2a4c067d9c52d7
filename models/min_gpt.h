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
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"

namespace riesz::models {

/// minGPT's sizes.
struct MinGptConfig {
  std::int64_t layers = 3;
  std::int64_t heads = 3;
  std::int64_t width = 48;  ///< C; a multiple of heads
  std::int64_t hidden = 0;  ///< of the MLP; 0: 4C
  std::int64_t vocabulary = 10;
  std::int64_t context = 6;  ///< the longest sequence
  double dropout = 0.1;      ///< the default of the three below
  std::optional<double> embedding_dropout = {};
  std::optional<double> attention_dropout = {};
  std::optional<double> residual_dropout = {};
  std::string activation = "gelu";      ///< of the MLP, as `activate` names it
  double epsilon = 1e-5;                ///< of the layer norms
  bool tied = false;                    ///< is the output layer's weight the token table?
  ContractionOptions contraction = {};  ///< of all linear layers

  /// Its letters: b batch, t sequence, p positions, c width, h heads of d, f the MLP's width, v the
  /// vocabulary, and q for queries, keys and values.
  /// @throws Error unless the width is a multiple of the heads and all sizes are at least 1.
  Roles roles() const;
  /// Options of the linear layers. `back_to_stream`: deviation 0.02/sqrt(2*layers), as GPT-2, for the layers
  /// whose output is added to the stream.
  LinearOptions linear() const;
  LinearOptions back_to_stream() const;
};

/// (B, T, C) → (B, T, C): causal self-attention.
class SelfAttention : public Layer<SelfAttention> {
 public:
  SelfAttention(OwnerAndName place, const MinGptConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x, KeyValueCache* cache = nullptr) {
    return resid_dropout_(c_proj_(attend_(c_attn_(x), AttentionCall{.cache = cache})));
  }
  std::string describe() const override { return "causal self-attention"; }

 private:
  MinGptConfig config_;
  Linear c_attn_{*this, "c_attn", "btc,cqhd->qbthd", config_.linear()};
  Attention attend_{
      *this, "", {.causal = true, .dropout = config_.attention_dropout.value_or(config_.dropout)}};
  Linear c_proj_{*this, "c_proj", "bthd,hdc->btc", config_.back_to_stream()};
  Dropout resid_dropout_{*this, "resid_dropout", config_.residual_dropout.value_or(config_.dropout)};
};

/// (B, T, C) → (B, T, C): down(gelu(up(x))), or with another activation.
class Mlp : public Layer<Mlp> {
 public:
  Mlp(OwnerAndName place, const MinGptConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x) { return dropout_(c_proj_(c_fc_(x, config_.activation))); }
  std::string describe() const override { return "MLP with " + config_.activation; }

 private:
  MinGptConfig config_;
  Linear c_fc_{*this, "c_fc", "btc,cf->btf", config_.linear()};
  Linear c_proj_{*this, "c_proj", "btf,fc->btc", config_.back_to_stream()};
  Dropout dropout_{*this, "dropout", config_.residual_dropout.value_or(config_.dropout)};
};

/// (B, T, C) → (B, T, C): a transformer block with the norms first.
class Block : public Layer<Block> {
 public:
  Block(OwnerAndName place, const MinGptConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(Vector x, KeyValueCache* cache = nullptr) {
    x = x + attn_(ln_1_(x), cache);
    return x + mlp_(ln_2_(x));
  }
  std::string describe() const override { return "transformer block"; }

 private:
  MinGptConfig config_;
  LayerNorm ln_1_{*this, "ln_1", "btc", config_.epsilon};
  SelfAttention attn_{{*this, "attn"}, config_};
  LayerNorm ln_2_{*this, "ln_2", "btc", config_.epsilon};
  Mlp mlp_{{*this, "mlp"}, config_};
};

/// minGPT (Karpathy): GPT-2's architecture with an output layer of its own, under the names and the published
/// shapes of Hugging Face's GPT-2 checkpoints. Written once for all layouts.
class MinGpt : public Layer<MinGpt> {
 public:
  MinGpt(const Layout& layout, const MinGptConfig& config);
  /// With some vectors or weights elsewhere. @throws Error unless the letters have the config's roles.
  MinGpt(const ModelSpaces& spaces, const MinGptConfig& config);

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

  MinGptConfig config_;
  Embedding wte_{*this, "transformer.wte", "bt,vc->btc"};
  Embedding wpe_{*this, "transformer.wpe", "t,pc->tc"};
  Dropout drop_{*this, "transformer.drop", config_.embedding_dropout.value_or(config_.dropout)};
  Repeated<Block> blocks_{*this, "transformer.h", config_.layers, config_};
  LayerNorm ln_f_{*this, "transformer.ln_f", "btc", config_.epsilon};
  Linear lm_head_;
};

}  // namespace riesz::models
