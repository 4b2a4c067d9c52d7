// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/model_config.h"

#include "riesz/comm/error.h"

namespace riesz::models {

ModelConfig model_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  if (kind == "vit") return vit_config(config_json);
  RIESZ_CHECK(kind == "gpt2" || kind == "gptj" || kind == "llama", "config.json: model_type is \"", kind,
              "\"; the models there are here are \"gpt2\", \"gptj\", \"llama\" and, of images, \"vit\"");
  return causal_config(config_json);
}

}  // namespace riesz::models
