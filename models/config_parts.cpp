// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/config_parts.h"

#include "riesz/comm/error.h"
#include "riesz/io/json/json_field.h"

namespace riesz::models::detail {

using nlohmann::json;
using nlohmann::ordered_json;

std::string published_activation(const std::string& name) {
  if (name == "gelu") return "gelu_new";
  return name == "gelu_exact" ? "gelu" : name;
}

std::string text_of(const ordered_json& config) { return config.dump(2) + "\n"; }

double read_dropout(ConfigReader& config, const char* key, double otherwise) {
  return config.number(key, otherwise, 0, 0.99);
}

std::vector<std::int64_t> read_each(ConfigReader& config, const std::string& key,
                                    const std::vector<std::int64_t>& otherwise, std::int64_t most) {
  const json* const list = config.list(key);
  if (list == nullptr) return otherwise;
  std::vector<std::int64_t> sizes;
  for (const riesz::detail::JsonField& each :
       riesz::detail::JsonField(*list, "config.json: " + key).elements())
    sizes.push_back(each.integer(1, most));
  return sizes;
}

std::int64_t labels_said(ConfigReader& config) {
  const json* const names = config.object("id2label");
  const std::int64_t named = names != nullptr ? static_cast<std::int64_t>(names->size()) : 2;
  const std::int64_t labels = config.size("num_labels", named, kMostWords);
  RIESZ_CHECK(names == nullptr || named == labels, "config.json: num_labels is ", labels,
              ", and id2label names ", named);
  config.only("problem_type", "single_label_classification");
  return labels;
}

std::pair<ordered_json, ordered_json> label_tables(std::int64_t labels,
                                                   const std::vector<std::string>& names) {
  RIESZ_CHECK(names.empty() || static_cast<std::int64_t>(names.size()) == labels,
              "config.json: ", names.size(), " names of ", labels, " labels");
  ordered_json by_number, by_name;
  for (std::int64_t label = 0; label < labels; ++label) {
    const std::string name = names.empty() ? concat("LABEL_", label) : names[static_cast<std::size_t>(label)];
    by_number[std::to_string(label)] = name;
    by_name[name] = label;
  }
  return {by_number, by_name};
}

void read_balance(ConfigReader& config, RoutedSizes& of, double weight) {
  of.experts_per_token = config.size("num_experts_per_tok", of.experts_per_token, kMostExperts);
  of.balance_weight = config.number("router_aux_loss_coef", weight, 0, kMostBalanceWeight);
  of.balanced = config.flag("output_router_logits", false);
}

void write_balance(ordered_json& of, const RoutedSizes& config) {
  of["num_experts_per_tok"] = config.experts_per_token;
  of["output_router_logits"] = config.balanced;
  of["router_aux_loss_coef"] = config.balance_weight;
}

}  // namespace riesz::models::detail
