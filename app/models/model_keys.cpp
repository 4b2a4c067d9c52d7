// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_keys.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

namespace riesz::app {
namespace {

/// Channels of coordinates that a Fourier neural operator is given behind those of the field.
constexpr std::int64_t kCoordinates = 2;

/// Which key says which size: a pair for each that this kind has.
template <typename Keys, typename Shape, typename Pair>
void for_each_pair(Keys& keys, Shape& of, const Pair& pair) {
  if constexpr (requires { of.activation; }) pair(keys.activation, of.activation);
  if constexpr (requires { of.heads; }) {
    pair(keys.layers, of.layers);
    pair(keys.heads, of.heads);
    pair(keys.width, of.width);
    pair(keys.hidden, of.hidden);
    pair(keys.epsilon, of.epsilon);
  }
  if constexpr (requires { of.depths; }) {
    pair(keys.depths, of.depths);
    pair(keys.widths, of.widths);
    pair(keys.stem, of.stem);
    pair(keys.bottleneck, of.bottleneck);
    pair(keys.halves_first, of.halves_first);
  }
  if constexpr (requires { of.levels; }) pair(keys.levels, of.levels), pair(keys.width, of.width);
  if constexpr (requires { of.modes; }) {
    pair(keys.modes, of.modes);
    pair(keys.layers, of.layers);
    pair(keys.width, of.width);
    pair(keys.hidden, of.hidden);
    pair(keys.image, of.size);
  }
  if constexpr (requires { of.context; }) pair(keys.context, of.context);
  if constexpr (requires { of.tied; }) pair(keys.tied, of.tied);
  if constexpr (requires { of.rotary_dims; }) pair(keys.rotary_dims, of.rotary_dims);
  if constexpr (requires { of.key_value_heads; }) pair(keys.key_value_heads, of.key_value_heads);
  if constexpr (requires { of.rotary_base; }) pair(keys.rotary_base, of.rotary_base);
  if constexpr (requires { of.experts; }) pair(keys.experts, of.experts);
  if constexpr (requires { of.experts_per_token; }) pair(keys.experts_per_token, of.experts_per_token);
  if constexpr (requires { of.experts_every; }) pair(keys.experts_every, of.experts_every);
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
  if constexpr (requires { of.inputs; }) of.inputs = keys.channels + kCoordinates;
  return of;
}

template <typename Shape>
Config::Model keys_of_kind(const Shape& of) {
  Config::Model keys;
  for_each_pair(keys, of, [](auto& key, const auto& size) { key = size; });
  if constexpr (requires { of.inputs; }) keys.channels = of.inputs - kCoordinates;
  if constexpr (requires { of.balanced; }) keys.balance_weight = of.balanced ? of.balance_weight : 0;
  if constexpr (requires { of.capacity_factor; })
    keys.z_weight = of.z_weight, keys.capacity_factor = of.capacity_factor;
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
  set_training_of_experts(shape, keys, [](const std::string&) { return true; });
  return shape;
}

models::ImageConfig image_shape(const Config::Model& keys) {
  if (keys.kind == "resnet") return shape_of<models::ResnetConfig>(keys);
  if (keys.kind == "unet") return shape_of<models::UnetConfig>(keys);
  if (keys.kind == "fno") return shape_of<models::FourierNeuralOperatorConfig>(sizes_in_full(keys));
  models::ImageConfig shape = shape_of<models::VitConfig>(keys);
  set_dropout(shape, keys.dropout);
  return shape;
}

Config::Model keys_of(const models::ModelConfig& shape) {
  Config::Model keys;
  if (const auto* const text = std::get_if<models::CausalConfig>(&shape)) {
    keys = std::visit([](const auto& of) { return keys_of_kind(of); }, *text);
    keys.kind = models::kind_of(*text);
  } else {
    const auto& images = std::get<models::ImageConfig>(shape);
    keys = std::visit([](const auto& of) { return keys_of_kind(of); }, images);
    keys.kind = models::kind_of(images);
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

void set_image_size(models::ImageConfig& shape, std::int64_t size) {
  if (auto* const resnet = std::get_if<models::ResnetConfig>(&shape)) resnet->image = size;
  if (auto* const unet = std::get_if<models::UnetConfig>(&shape)) unet->image = size;
  if (auto* const fno = std::get_if<models::FourierNeuralOperatorConfig>(&shape)) fno->size = size;
}

void set_dropout(models::ImageConfig& shape, double p) {
  if (auto* const vit = std::get_if<models::VitConfig>(&shape)) vit->dropout = vit->attention_dropout = p;
}

void set_training_of_experts(models::CausalConfig& shape, const Config::Model& keys, const SaidKeys& said) {
  std::visit(
      [&](auto& of) {
        if constexpr (requires { of.balanced; }) {
          if (said("model.balance_weight")) {
            of.balanced = keys.balance_weight > 0;
            if (of.balanced) of.balance_weight = keys.balance_weight;
          }
        }
        if constexpr (requires { of.capacity_factor; }) {
          if (said("model.z_weight")) of.z_weight = keys.z_weight;
          if (said("model.capacity_factor")) of.capacity_factor = keys.capacity_factor;
        }
      },
      shape);
}

models::UpcycledSizes upcycled_sizes(const Config::Model& keys) {
  models::UpcycledSizes sizes;
  sizes.experts = keys.experts, sizes.experts_per_token = keys.experts_per_token;
  sizes.balanced = keys.balance_weight > 0, sizes.balance_weight = keys.balance_weight;
  sizes.experts_every = keys.experts_every;
  sizes.capacity_factor = keys.capacity_factor, sizes.z_weight = keys.z_weight;
  return sizes;
}

double dropout_of(const models::ModelConfig& shape) {
  if (const auto* const images = std::get_if<models::ImageConfig>(&shape)) {
    const auto* const vit = std::get_if<models::VitConfig>(images);
    return vit == nullptr ? 0 : vit->dropout;
  }
  return std::visit([](const auto& of) { return residual_dropout(of); },
                    std::get<models::CausalConfig>(shape));
}

}  // namespace riesz::app
