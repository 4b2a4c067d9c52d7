// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model_shape.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "riesz/app/pretrained.h"

namespace riesz::app {
namespace {

std::optional<at::ScalarType> compute_type(const Config& config) {
  if (config.compute == "same") return std::nullopt;
  return scalar_type(config.compute);
}

ContractionOptions contraction_of(const Config& config) {
  const Config::Layout& layout = config.layout;
  return {.rounds = static_cast<int>(layout.rounds),
          .keep_x = layout.keep,
          .keep_w = layout.keep,
          .cheapest = layout.cheapest,
          .compute_type = compute_type(config)};
}

models::MinGptConfig gpt2(const Config::Model& sizes) {
  return {.layers = sizes.layers,
          .heads = sizes.heads,
          .width = sizes.width,
          .hidden = sizes.hidden,
          .context = sizes.context,
          .dropout = sizes.dropout,
          .activation = sizes.activation,
          .epsilon = sizes.epsilon,
          .tied = sizes.tied};
}

models::GptJConfig gptj(const Config::Model& sizes) {
  return {.layers = sizes.layers,
          .heads = sizes.heads,
          .width = sizes.width,
          .hidden = sizes.hidden,
          .context = sizes.context,
          .rotary_dims = sizes.rotary_dims > 0 ? sizes.rotary_dims : sizes.width / sizes.heads,
          .embedding_dropout = sizes.dropout,
          .attention_dropout = sizes.dropout,
          .residual_dropout = sizes.dropout,
          .activation = sizes.activation,
          .epsilon = sizes.epsilon};
}

models::LlamaConfig llama(const Config::Model& sizes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  models::LlamaConfig of;
  of.layers = sizes.layers;
  of.heads = sizes.heads;
  of.key_value_heads = sizes.key_value_heads > 0 ? sizes.key_value_heads : sizes.heads;
  of.width = sizes.width;
  of.hidden = sizes.hidden > 0 ? sizes.hidden : 4 * std::min(sizes.width, kMost / 4);
  of.context = sizes.context;
  of.rotary_base = sizes.rotary_base;
  of.activation = sizes.activation;
  of.epsilon = sizes.epsilon;
  of.tied = sizes.tied;
  return of;
}

models::CausalConfig of_keys(const Config::Model& sizes) {
  if (sizes.kind == "llama") return llama(sizes);
  if (sizes.kind == "gptj") return gptj(sizes);
  return gpt2(sizes);
}

/// With the dropout that the key says, if that is another.
models::CausalConfig of_folder(const Config::Model& model) {
  models::CausalConfig shape = read_pretrained(model.from).config;
  if (model.dropout == dropout_of(shape)) return shape;
  if (auto* const gpt2 = std::get_if<models::MinGptConfig>(&shape))
    gpt2->embedding_dropout = gpt2->attention_dropout = gpt2->residual_dropout = model.dropout;
  if (auto* const gptj = std::get_if<models::GptJConfig>(&shape))
    gptj->embedding_dropout = gptj->attention_dropout = gptj->residual_dropout = model.dropout;
  return shape;
}

}  // namespace

at::ScalarType scalar_type(const std::string& name) {
  return name == "bf16" ? at::kBFloat16 : name == "fp16" ? at::kHalf : at::kFloat;
}

models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary) {
  models::CausalConfig shape = config.model.from.empty() ? of_keys(config.model) : of_folder(config.model);
  std::visit(
      [&](auto& of) {
        if (config.model.from.empty()) of.vocabulary = vocabulary;
        of.contraction = contraction_of(config);
      },
      shape);
  return shape;
}

models::VitConfig image_model_shape(const Config& config, std::int64_t labels) {
  const Config::Model& sizes = config.model;
  return {.layers = sizes.layers,
          .heads = sizes.heads,
          .width = sizes.width,
          .hidden = sizes.hidden,
          .image = sizes.image,
          .patch = sizes.patch,
          .channels = sizes.channels,
          .labels = labels,
          .dropout = sizes.dropout,
          .attention_dropout = sizes.dropout,
          .activation = sizes.activation,
          .epsilon = sizes.epsilon,
          .contraction = contraction_of(config)};
}

}  // namespace riesz::app
