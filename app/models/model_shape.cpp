// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_shape.h"

#include <variant>

#include "riesz/app/models/model_keys.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/comm/error.h"

namespace riesz::app {
namespace {

ContractionOptions contraction_of(const Config& config) {
  const Config::Layout& layout = config.layout;
  ContractionOptions options;
  options.rounds = static_cast<int>(layout.panels);
  options.keep_x = options.keep_w = layout.keep_gathered;
  options.cheapest = layout.least_traffic;
  if (config.compute != "same") options.compute_type = scalar_type(config.compute);
  return options;
}

/// As the folder says them, but for what is said of how the model is trained.
models::CausalConfig text_of_folder(const Config& config) {
  auto shape =
      std::get<models::CausalConfig>(shape_of_folder(read_pretrained(config.model.from), config.model));
  const SaidKeys said = [&](const std::string& key) { return config.origins.contains(key); };
  if (said("model.dropout")) set_dropout(shape, config.model.dropout);
  set_training_of_experts(shape, config.model, said);
  return shape;
}
models::ImageConfig images_of_folder(const Config& config) {
  models::ImageConfig shape = image_config(read_pretrained(config.model.from));
  if (config.origins.contains("model.image")) set_image_size(shape, config.model.image);
  if (config.origins.contains("model.dropout")) set_dropout(shape, config.model.dropout);
  return shape;
}

}  // namespace

models::ModelConfig shape_of_folder(const Pretrained& from, const Config::Model& keys) {
  if (!keys.upcycle) return from.config;
  try {
    return models::upcycled(text_config(from), upcycled_sizes(keys));
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; model.upcycle asks for experts"));
  }
}

models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary) {
  models::CausalConfig shape = config.model.from.empty() ? text_shape(config.model) : text_of_folder(config);
  std::visit(
      [&](auto& of) {
        if (config.model.from.empty()) of.vocabulary = vocabulary;
        of.contraction = contraction_of(config);
      },
      shape);
  return shape;
}

models::ImageConfig image_model_shape(const Config& config, std::int64_t labels) {
  models::ImageConfig shape =
      config.model.from.empty() ? image_shape(config.model) : images_of_folder(config);
  models::set_labels(shape, labels);
  std::visit([&](auto& of) { of.contraction = contraction_of(config); }, shape);
  return shape;
}

std::int64_t image_elements(const Config& config) {
  return config.model.channels * config.model.image * config.model.image;
}

}  // namespace riesz::app
