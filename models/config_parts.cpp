// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/config_parts.h"

namespace riesz::models::detail {

using nlohmann::ordered_json;

std::string published_activation(const std::string& name) {
  if (name == "gelu") return "gelu_new";
  return name == "gelu_exact" ? "gelu" : name;
}

std::string text_of(const ordered_json& config) { return config.dump(2) + "\n"; }

double read_dropout(ConfigReader& config, const char* key, double otherwise) {
  return config.number(key, otherwise, 0, 0.99);
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
