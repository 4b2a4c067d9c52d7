// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "riesz/models/configs.h"
#include "riesz/nn/loss/predictions.h"
#include "riesz/nn/model_cache.h"

namespace riesz::models {

/// The sizes of a causal language model, of any kind in this library, in the order of `published_models`.
using CausalConfig =
    std::variant<MinGptConfig, GptJConfig, LlamaConfig, MixtralConfig, Qwen2MoeConfig, Gpt2MoeConfig>;

/// Reads the text of a config.json.
/// @throws Error naming the known kinds where its model_type is none of them; also as that kind's reader,
/// such as `llama_config`.
CausalConfig causal_config(const std::string& config_json);
std::string config_json(const CausalConfig& config);
/// The sizes of this kind that hold where nobody says others. @throws Error naming the known kinds unless it
/// is one.
CausalConfig default_config(const std::string& kind);

/// The model_type of its config.json, such as "gpt2" or "llama".
std::string kind_of(const CausalConfig& config);

/// The name in this model for a tensor of Hugging Face's files. Files saved without the output layer leave a
/// prefix out: "wte.weight" is "transformer.wte.weight". The name is "" where a tensor is no weight of the
/// model: masks and frequencies in older files, and the output layer's copy of a tied table.
std::string weight_name(const CausalConfig& config, const std::string& stored);

// What all kinds have.
std::int64_t blocks_of(const CausalConfig& config);
std::int64_t vocabulary_of(const CausalConfig& config);
/// The longest sequence.
std::int64_t context_of(const CausalConfig& config);

/// A causal language model of any kind, as training and generation use it.
class CausalModel {
 public:
  virtual ~CausalModel() = default;

  virtual Module& module() = 0;
  virtual const CausalConfig& config() const = 0;
  /// Spaces of (B, T): of ids; of the targets that logits are compared with.
  virtual Space tokens() const = 0;
  virtual Space targets() const = 0;
  /// Token ids of (B, T), T at most the context → logits of (B, T, V), each of the next token, and the
  /// model's own loss if it has one.
  /// @throws Error naming T and the context where T is greater.
  virtual Predictions predictions(const Vector& ids) = 0;
  /// The logits alone.
  Vector logits(const Vector& ids) { return predictions(ids).logits; }
  /// The same of the tokens that follow those in the cache.
  Vector logits(const Vector& ids, ModelCache& cache);
  /// The logits behind the last of these tokens alone, (B, 1, V), for generation.
  virtual Vector next(const Vector& ids, ModelCache& cache) = 0;
};

/// All that this library needs to know of one published kind of model: a new kind is one more record, beside
/// its class and its sizes' `read` and `config_json`.
struct PublishedModel {
  std::string name;  ///< model_type of its config.json
  std::function<CausalConfig(const std::string& config_json)> read;
  std::function<std::unique_ptr<CausalModel>(const Layout& layout, const CausalConfig& config)> make;
  /// As `weight_name`.
  std::function<std::string(const CausalConfig& config, const std::string& stored)> rename;
};

const std::vector<PublishedModel>& published_models();
/// Their names for messages: "a", "b" and "c".
std::string published_names();

/// The model of these sizes, without weights. Call `module().initialise`, and then `load_weights` if there
/// are trained ones. Local. @throws Error where the sizes do not fit one another.
std::unique_ptr<CausalModel> make_causal_model(const Layout& layout, const CausalConfig& config);

}  // namespace riesz::models
