// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/model_config.h"

#include <algorithm>
#include <vector>

#include "riesz/comm/error.h"

namespace riesz::models {

ModelConfig model_config(const std::string& config_json) {
  const std::string kind = model_type_of(config_json);
  if (kind == "vit") return vit_config(config_json);
  const std::vector<PublishedModel>& all = published_models();
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const PublishedModel& model) { return model.name == kind; });
  RIESZ_CHECK(known, "config.json: model_type is \"", kind, "\"; the models there are here are ",
              published_names(), " and, of images, \"vit\"");
  return causal_config(config_json);
}

}  // namespace riesz::models
