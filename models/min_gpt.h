// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/models/min_gpt_spaces.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/layers/relayout.h"
#include "riesz/nn/norm/layer_norm.h"
#include "riesz/nn/vectors/alongside.h"

namespace riesz::models {

/// x + projection(attention(norm(x))): causal self-attention.
class Attention : public Module {
 public:
  Attention(std::string name, const MinGptSpaces& s, const MinGptConfig& config);
  Vector operator()(const Vector& x);  // (B, T, C) -> (B, T, C)
  std::string describe() const override;

 private:
  Relayout to_attending_;
  Relayout from_attending_;
  Linear c_attn_;
  Linear c_proj_;
  Dropout attn_dropout_;
  Dropout resid_dropout_;
};

/// down(gelu(up(x))).
class Mlp : public Module {
 public:
  Mlp(std::string name, const MinGptSpaces& s, const MinGptConfig& config);
  Vector operator()(const Vector& x);  // (B, T, C) -> (B, T, C)
  std::string describe() const override;

 private:
  Linear c_fc_;
  Linear c_proj_;
  Dropout dropout_;
};

/// A transformer block with the norms first.
class Block : public Module {
 public:
  Block(std::string name, const MinGptSpaces& s, const MinGptConfig& config);
  Vector operator()(Vector x);  // (B, T, C) -> (B, T, C)
  std::string describe() const override;

 private:
  LayerNorm ln_1_;
  Attention attn_;
  LayerNorm ln_2_;
  Mlp mlp_;
};

/// minGPT (Karpathy): GPT-2's architecture with an output layer of its own, under the names and the published
/// shapes of Hugging Face's GPT-2 checkpoints. Written once against its spaces, which are all it knows of
/// parallelism.
class MinGpt : public Module {
 public:
  MinGpt(const MinGptSpaces& s, const MinGptConfig& config);

  /// Token ids of (B, T), T at most the context → logits of (B, T, V), each of the next token.
  /// @throws Error naming T and the context where T is greater.
  Vector operator()(const Vector& ids);

  const MinGptSpaces& spaces() const { return spaces_; }
  std::string describe() const override;

 private:
  MinGptSpaces spaces_;
  MinGptConfig config_;
  Embedding wte_;
  Embedding wpe_;
  Alongside positions_;
  Dropout drop_;
  std::vector<std::unique_ptr<Block>> blocks_;
  LayerNorm ln_f_;
  Linear lm_head_;
};

}  // namespace riesz::models
