// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/label_names.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/models/image_model.h"

namespace riesz::models {

std::vector<std::string> label_names(const std::string& config_json) {
  const std::int64_t labels = labels_of(image_config(config_json));
  const auto config = nlohmann::json::parse(config_json);
  const nlohmann::json by_number = config.value("id2label", nlohmann::json());
  std::vector<std::string> names;
  for (std::int64_t label = 0; label < labels; ++label) {
    const std::string number = std::to_string(label);
    if (by_number.is_null()) {
      names.push_back("LABEL_" + number);
      continue;
    }
    RIESZ_CHECK(by_number.contains(number) && by_number[number].is_string(), "config.json: of ", labels,
                " labels, id2label names no ", number);
    names.push_back(by_number[number].get<std::string>());
  }
  return names;
}

}  // namespace riesz::models
