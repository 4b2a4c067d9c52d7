// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "riesz/io/json/json_field.h"

namespace riesz::models::detail {

/// The JSON of a config.json's text. @throws Error unless it is a JSON object.
nlohmann::json parsed(const std::string& text);

// The greatest sizes that a file may say: above those of every model, and so small that a weight's number of
// elements fits 64 bits.
constexpr std::int64_t kMostLayers = 10000;
constexpr std::int64_t kMostExperts = 4096;
constexpr std::int64_t kMostWidth = 1 << 20;  ///< of anything that a layer has
constexpr std::int64_t kMostWords = 1 << 24;  ///< in a vocabulary
constexpr std::int64_t kMostPositions = 1 << 27;
constexpr double kMostRotaryBase = 1e15;

/// A model's config.json, read key by key. A key that the model does not know, or a value that it does not
/// support, is an Error that names the key.
class ConfigReader {
 public:
  /// `text` is the file's. @throws Error unless it is a JSON object whose model_type is this one.
  ConfigReader(const std::string& text, std::string model_type);

  /// The value of a key, from `least` to `most`. If it is absent or null: `otherwise`, even outside this
  /// range.
  /// @throws Error naming the key, its value and the range where it is of another type or out of range. Also
  /// naming the key where it is absent without `otherwise`.
  std::int64_t integer(const std::string& key, std::optional<std::int64_t> otherwise, std::int64_t least,
                       std::int64_t most);
  double number(const std::string& key, std::optional<double> otherwise, double least, double most);
  /// A size, from 1 to `most`.
  std::int64_t size(const std::string& key, std::optional<std::int64_t> otherwise = {},
                    std::int64_t most = kMostWidth);
  bool flag(const std::string& key, bool otherwise);
  /// Is it there, and null?
  bool is_null(const std::string& key) const;
  /// An activation by the name that `activate` has for it; the file has Hugging Face's name.
  std::string activation(const std::string& key, const std::string& otherwise);
  /// nullptr where it is absent or null.
  const nlohmann::json* object(const std::string& key);
  /// Likewise of a list, and of a text.
  const nlohmann::json* list(const std::string& key);
  const nlohmann::json* text(const std::string& key);

  /// @throws Error naming the key unless it is absent, null or this.
  void only(const std::string& key, const nlohmann::json& value);
  /// @throws Error naming the key unless it is absent, null or a list of so many times this text.
  void only_all(const std::string& key, const std::string& text, std::int64_t count);
  /// These keys say nothing about what the model computes.
  void ignore(const std::vector<std::string>& keys);
  /// @throws Error naming all keys that nothing has asked for.
  void done() const;
  /// @throws Error: this model has no such `what`.
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

 private:
  const nlohmann::json* find(const std::string& key);
  /// The value with its place, or nothing. @throws Error where it is absent and there is no `otherwise`.
  std::optional<riesz::detail::JsonField> field(const std::string& key, bool otherwise);

  std::string type_;
  nlohmann::json config_;
  std::set<std::string> known_;
};

}  // namespace riesz::models::detail
