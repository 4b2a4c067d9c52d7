// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model_shape.h"

#include <algorithm>
#include <limits>

#include "riesz/app/pretrained.h"
#include "riesz/app/scalar_type.h"

namespace riesz::app {
namespace {

ContractionOptions contraction_of(const Config& config) {
  const Config::Layout& layout = config.layout;
  ContractionOptions options;
  options.rounds = static_cast<int>(layout.rounds);
  options.keep_x = options.keep_w = layout.keep;
  options.cheapest = layout.cheapest;
  if (config.compute != "same") options.compute_type = scalar_type(config.compute);
  return options;
}

// model.dropout in all places that a kind drops in. A Llama has no such key.
void set_dropout(models::MinGptConfig& of, double p) {
  of.dropout = p;
  of.embedding_dropout = of.attention_dropout = of.residual_dropout = p;
}
void set_dropout(models::GptJConfig& of, double p) {
  of.embedding_dropout = of.attention_dropout = of.residual_dropout = p;
}
void set_dropout(models::VitConfig& of, double p) { of.dropout = of.attention_dropout = p; }
void set_dropout(models::LlamaConfig&, double) {}

/// What the keys say that all kinds read.
template <typename Shape>
Shape of_shared_keys(const Config::Model& keys) {
  Shape of;
  of.layers = keys.layers;
  of.heads = keys.heads;
  of.width = keys.width;
  of.hidden = keys.hidden;
  of.activation = keys.activation;
  of.epsilon = keys.epsilon;
  set_dropout(of, keys.dropout);
  return of;
}

models::MinGptConfig gpt2(const Config::Model& keys) {
  auto of = of_shared_keys<models::MinGptConfig>(keys);
  of.context = keys.context;
  of.tied = keys.tied;
  return of;
}

models::GptJConfig gptj(const Config::Model& keys) {
  auto of = of_shared_keys<models::GptJConfig>(keys);
  of.context = keys.context;
  of.rotary_dims = keys.rotary_dims > 0 ? keys.rotary_dims : keys.width / keys.heads;
  return of;
}

models::LlamaConfig llama(const Config::Model& keys) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  auto of = of_shared_keys<models::LlamaConfig>(keys);
  if (keys.hidden == 0) of.hidden = 4 * std::min(keys.width, kMost / 4);
  of.key_value_heads = keys.key_value_heads > 0 ? keys.key_value_heads : keys.heads;
  of.context = keys.context;
  of.rotary_base = keys.rotary_base;
  of.tied = keys.tied;
  return of;
}

models::CausalConfig of_keys(const Config::Model& keys) {
  if (keys.kind == "llama") return llama(keys);
  if (keys.kind == "gptj") return gptj(keys);
  return gpt2(keys);
}

/// As the folder says them, with the dropout that the key says, if it is said.
models::CausalConfig text_of_folder(const Config& config) {
  models::CausalConfig shape = text_config(read_pretrained(config.model.from));
  if (config.origins.contains("model.dropout"))
    std::visit([&](auto& of) { set_dropout(of, config.model.dropout); }, shape);
  return shape;
}
models::VitConfig images_of_folder(const Config& config) {
  models::VitConfig shape = image_config(read_pretrained(config.model.from));
  if (config.origins.contains("model.dropout")) set_dropout(shape, config.model.dropout);
  return shape;
}

models::VitConfig vit(const Config::Model& keys) {
  auto of = of_shared_keys<models::VitConfig>(keys);
  of.image = keys.image;
  of.patch = keys.patch;
  of.channels = keys.channels;
  return of;
}

}  // namespace

models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary) {
  models::CausalConfig shape = config.model.from.empty() ? of_keys(config.model) : text_of_folder(config);
  std::visit(
      [&](auto& of) {
        if (config.model.from.empty()) of.vocabulary = vocabulary;
        of.contraction = contraction_of(config);
      },
      shape);
  return shape;
}

models::VitConfig image_model_shape(const Config& config, std::int64_t labels) {
  models::VitConfig of = config.model.from.empty() ? vit(config.model) : images_of_folder(config);
  of.labels = labels;
  of.contraction = contraction_of(config);
  return of;
}

std::int64_t image_elements(const Config& config) {
  return config.model.channels * config.model.image * config.model.image;
}

}  // namespace riesz::app
