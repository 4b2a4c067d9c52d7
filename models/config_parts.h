// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What readers and writers of several models' config.json share. Local.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "riesz/models/config_reader.h"
#include "riesz/models/routed.h"

namespace riesz::models::detail {

/// Of the losses of routers: no program trains with more.
constexpr double kMostBalanceWeight = 1e6;
constexpr double kMostCapacityFactor = 1e6;

/// Hugging Face's name of an activation.
std::string published_activation(const std::string& name);
std::string text_of(const nlohmann::ordered_json& config);
double read_dropout(ConfigReader& config, const char* key, double otherwise);

/// What models with experts say of their router, where `weight` holds without a word.
void read_balance(ConfigReader& config, RoutedSizes& of, double weight);
void write_balance(nlohmann::ordered_json& of, const RoutedSizes& config);

}  // namespace riesz::models::detail
