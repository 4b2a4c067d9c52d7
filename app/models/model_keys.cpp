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
  if constexpr (requires { of.experts; }) pair(keys.experts, of.experts);
  if constexpr (requires { of.experts_per_token; }) pair(keys.experts_per_token, of.experts_per_token);
  if constexpr (requires { of.balance_weight; }) pair(keys.balance_weight, of.balance_weight);
  if constexpr (requires { of.expert_hidden; }) pair(keys.expert_hidden, of.expert_hidden);
  if constexpr (requires { of.renormalise; }) pair(keys.renormalise, of.renormalise);
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

/// Of the kinds that have a dropout for each branch.
template <typename Shape>
void set_dropouts(Shape& of, double p) {
  if constexpr (requires { of.residual_dropout; })
    of.embedding_dropout = of.attention_dropout = of.residual_dropout = p;
  if constexpr (requires { of.dropout; }) of.dropout = p;
}

template <typename Shape>
double residual_dropout(const Shape& of) {
  if constexpr (requires { of.residual_dropout.value_or(of.dropout); })
    return of.residual_dropout.value_or(of.dropout);
  else if constexpr (requires { of.residual_dropout; })
    return of.residual_dropout;
  else
    return 0;
}

}  // namespace

models::CausalConfig text_shape(const Config::Model& keys) {
  const Config::Model in_full = sizes_in_full(keys);
  models::CausalConfig shape = models::default_config(keys.kind);
  std::visit(
      [&](auto& of) {
        Config::Model said = in_full;
        if (of.hidden == 0) said.hidden = keys.hidden;  // 0 stays where a config.json has it too
        for_each_pair(said, of, [](const auto& key, auto& size) { size = key; });
      },
      shape);
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
  if (keys.expert_hidden == 0) keys.expert_hidden = keys.hidden;
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
