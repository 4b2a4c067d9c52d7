// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_keys.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

namespace riesz::app {
namespace {

/// Which key says which size: a pair for each that this kind has.
template <typename Keys, typename Shape, typename Pair>
void for_each_pair(Keys& keys, Shape& of, const Pair& pair) {
  pair(keys.layers, of.layers);
  pair(keys.heads, of.heads);
  pair(keys.width, of.width);
  pair(keys.hidden, of.hidden);
  pair(keys.activation, of.activation);
  pair(keys.epsilon, of.epsilon);
  if constexpr (requires { of.context; }) pair(keys.context, of.context);
  if constexpr (requires { of.tied; }) pair(keys.tied, of.tied);
  if constexpr (requires { of.rotary_dims; }) pair(keys.rotary_dims, of.rotary_dims);
  if constexpr (requires { of.key_value_heads; }) pair(keys.key_value_heads, of.key_value_heads);
  if constexpr (requires { of.rotary_base; }) pair(keys.rotary_base, of.rotary_base);
  if constexpr (requires { of.image; }) pair(keys.image, of.image);
  if constexpr (requires { of.patch; }) pair(keys.patch, of.patch);
  if constexpr (requires { of.channels; }) pair(keys.channels, of.channels);
}

template <typename Shape>
Shape shape_of(const Config::Model& keys) {
  Shape of;
  for_each_pair(keys, of, [](const auto& key, auto& size) { size = key; });
  return of;
}

template <typename Shape>
Config::Model keys_of_kind(const Shape& of) {
  Config::Model keys;
  for_each_pair(keys, of, [](auto& key, const auto& size) { key = size; });
  return keys;
}

std::int64_t default_hidden(std::int64_t width) {
  return 4 * std::min(width, std::numeric_limits<std::int64_t>::max() / 4);
}

void set_dropouts(models::MinGptConfig& of, double p) {
  of.dropout = p;
  of.embedding_dropout = of.attention_dropout = of.residual_dropout = p;
}
void set_dropouts(models::GptJConfig& of, double p) {
  of.embedding_dropout = of.attention_dropout = of.residual_dropout = p;
}
void set_dropouts(models::LlamaConfig&, double) {}

double residual_dropout(const models::MinGptConfig& of) { return of.residual_dropout.value_or(of.dropout); }
double residual_dropout(const models::GptJConfig& of) { return of.residual_dropout; }
double residual_dropout(const models::LlamaConfig&) { return 0; }

}  // namespace

models::CausalConfig text_shape(const Config::Model& keys) {
  Config::Model said = sizes_in_full(keys);
  if (keys.kind == "llama") return shape_of<models::LlamaConfig>(said);
  said.hidden = keys.hidden;  // 0 stays: GPT-2 and GPT-J have it in their config.json too
  models::CausalConfig shape = shape_of<models::MinGptConfig>(said);
  if (keys.kind == "gptj") shape = shape_of<models::GptJConfig>(said);
  set_dropout(shape, keys.dropout);
  return shape;
}

models::VitConfig image_shape(const Config::Model& keys) {
  auto shape = shape_of<models::VitConfig>(keys);
  set_dropout(shape, keys.dropout);
  return shape;
}

Config::Model keys_of(const models::ModelConfig& shape) {
  Config::Model keys;
  if (const auto* const text = std::get_if<models::CausalConfig>(&shape)) {
    keys = std::visit([](const auto& of) { return keys_of_kind(of); }, *text);
    keys.kind = models::kind_of(*text);
  } else {
    keys = keys_of_kind(std::get<models::VitConfig>(shape));
    keys.kind = "vit";
  }
  if (keys.hidden == 0) keys.hidden = default_hidden(keys.width);
  return keys;
}

Config::Model sizes_in_full(Config::Model keys) {
  if (keys.hidden == 0) keys.hidden = default_hidden(keys.width);
  if (keys.key_value_heads == 0) keys.key_value_heads = keys.heads;
  if (keys.rotary_dims == 0) keys.rotary_dims = keys.width / keys.heads;
  return keys;
}

void set_dropout(models::CausalConfig& shape, double p) {
  std::visit([&](auto& of) { set_dropouts(of, p); }, shape);
}

void set_dropout(models::VitConfig& shape, double p) { shape.dropout = shape.attention_dropout = p; }

double dropout_of(const models::ModelConfig& shape) {
  if (const auto* const images = std::get_if<models::VitConfig>(&shape)) return images->dropout;
  return std::visit([](const auto& of) { return residual_dropout(of); },
                    std::get<models::CausalConfig>(shape));
}

}  // namespace riesz::app
