// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/model_config.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz::models {

ModelConfig model_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  const auto is = [&](const auto& model) { return model.name == kind; };
  const auto& images = image_model_kinds();
  if (std::any_of(images.begin(), images.end(), is)) return image_config(config_json);
  const auto& texts = published_models();
  RIESZ_CHECK(std::any_of(texts.begin(), texts.end(), is), "config.json: model_type is \"", kind,
              "\"; the models there are here are ", published_names(), " and, of images, ",
              image_model_kind_names());
  return causal_config(config_json);
}

}  // namespace riesz::models
