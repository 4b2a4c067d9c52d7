// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "riesz/models/causal_model.h"
#include "riesz/models/vit.h"

namespace riesz::app {

/// The parts of a model of some kind, in the letters of its specs; its memory is estimated from them.
struct Architecture {
  /// The blocks that have a layer, where some have experts and others do not.
  enum class Blocks { all, with_experts, without };

  /// A spec, or the letters of what a bias is added to; and the path of its module in the block.
  struct Named {
    std::string letters, path;
    Blocks blocks = Blocks::all;
  };

  /// Experts in the place of an MLP, or beside it.
  struct Mixture {
    double experts = 0, chosen = 0;     ///< 0: there are none; chosen by each token
    std::string path;                   ///< of the experts in a block
    std::vector<std::string> up, down;  ///< names of the weights of one: to its inner width, and from it
    char inner = 'f';                   ///< the letter of that width
    std::vector<std::pair<char, std::string>> biases = {};  ///< of one: letter and name
    std::int64_t every = 1;                                 ///< the blocks that have them: each so many-th
    GateOptions gate = {};                                  ///< how they are chosen
  };

  /// Has block i experts? And this layer?
  bool has_experts(std::int64_t i) const { return mixture.experts > 0 && (i + 1) % mixture.every == 0; }
  bool has(const Named& layer, std::int64_t i) const {
    return layer.blocks == Blocks::all || (layer.blocks == Blocks::with_experts) == has_experts(i);
  }

  std::map<char, double> extents;  ///< of all letters but b and t; p: rows of the table of positions
  std::vector<Named> weights;      ///< of a block's linear layers
  Mixture mixture = {};
  std::vector<Named> biases;           ///< of a block
  std::vector<std::string> norms;      ///< of a block, their paths
  double vectors_of_norm;              ///< its parameters, as vectors of the width
  std::vector<std::string> attending;  ///< what backward reads of a block, placed as attention computes it
  double activated = 1;                ///< what the MLP's activation is given, as tensors of btf
  std::string blocks, last_norm;       ///< paths
  std::vector<std::string> embedding;  ///< all parameters before the first block; the table, the positions, …
  std::string table = "btv,vc->btc";  ///< the spec of what reads the model's inputs
  std::string output_path = "lm_head";
  std::string output = "btc,vc->btv";  ///< of the output layer
  std::string logits = "btv";
  bool positions;  ///< has it a table of positions?
  bool tied;       ///< is the output layer's weight the token table?
  bool output_bias;
};

Architecture architecture(const models::MinGptConfig& of);
Architecture architecture(const models::GptJConfig& of);
Architecture architecture(const models::LlamaConfig& of);
Architecture architecture(const models::MixtralConfig& of);
Architecture architecture(const models::Qwen2MoeConfig& of);
Architecture architecture(const models::Gpt2MoeConfig& of);
Architecture architecture(const models::VitConfig& of);

}  // namespace riesz::app
