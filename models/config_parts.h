// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What readers and writers of several models' config.json share. Local.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "riesz/models/config_reader.h"
#include "riesz/models/routed.h"

namespace riesz::models::detail {

/// Of the losses of routers: no program trains with more.
constexpr double kMostBalanceWeight = 1e6;
constexpr double kMostCapacityFactor = 1e6;
constexpr std::int64_t kMostPixels = 1 << 16;  ///< rows of an image

/// Hugging Face's name of an activation.
std::string published_activation(const std::string& name);
std::string text_of(const nlohmann::ordered_json& config);
double read_dropout(ConfigReader& config, const char* key, double otherwise);
/// A list of sizes.
std::vector<std::int64_t> read_each(ConfigReader& config, const std::string& key,
                                    const std::vector<std::int64_t>& otherwise, std::int64_t most);

/// The labels of a classifier, from num_labels or id2label.
std::int64_t labels_said(ConfigReader& config);
/// The labels' names by their numbers, and the numbers by their names.
std::pair<nlohmann::ordered_json, nlohmann::ordered_json> label_tables(std::int64_t labels,
                                                                       const std::vector<std::string>& names);

/// What models with experts say of their router, where `weight` holds without a word.
void read_balance(ConfigReader& config, RoutedSizes& of, double weight);
void write_balance(nlohmann::ordered_json& of, const RoutedSizes& config);

}  // namespace riesz::models::detail
