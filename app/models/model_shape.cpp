// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model_shape.h"

#include <variant>

#include "riesz/app/models/model_keys.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/scalar_type.h"

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

/// As the folder says them, with the dropout that the key says, if it is said.
models::CausalConfig text_of_folder(const Config& config) {
  models::CausalConfig shape = text_config(read_pretrained(config.model.from));
  if (config.origins.contains("model.dropout")) set_dropout(shape, config.model.dropout);
  return shape;
}
models::VitConfig images_of_folder(const Config& config) {
  models::VitConfig shape = image_config(read_pretrained(config.model.from));
  if (config.origins.contains("model.dropout")) set_dropout(shape, config.model.dropout);
  return shape;
}

}  // namespace

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

models::VitConfig image_model_shape(const Config& config, std::int64_t labels) {
  models::VitConfig of = config.model.from.empty() ? image_shape(config.model) : images_of_folder(config);
  of.labels = labels;
  of.contraction = contraction_of(config);
  return of;
}

std::int64_t image_elements(const Config& config) {
  return config.model.channels * config.model.image * config.model.image;
}

}  // namespace riesz::app
