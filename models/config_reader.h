// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace riesz::models::detail {

/// The JSON of a text, which is discarded where it is none. @throws Error where it is nested too deep to be a
/// model's.
nlohmann::json parsed(const std::string& text);

/// A model's config.json, read key by key: what the model does not do, and a key that it does not know, is
/// refused by name.
class ConfigReader {
 public:
  /// `text` is the file's. @throws Error unless it is a JSON object whose model_type is this one.
  ConfigReader(const std::string& text, std::string model_type);

  /// The value of a key; where it is absent or null, `otherwise`.
  /// @throws Error naming the key where it is of another type, or absent without `otherwise`.
  std::int64_t integer(const std::string& key, std::optional<std::int64_t> otherwise = {});
  double number(const std::string& key, std::optional<double> otherwise = {});
  /// A size, from 1 to `most`. @throws Error likewise, and where it is less or more.
  std::int64_t size(const std::string& key, std::optional<std::int64_t> otherwise = {},
                    std::int64_t most = 1 << 20);
  /// A number from `least` to `most`. @throws Error likewise.
  double between(const std::string& key, double otherwise, double least, double most);
  bool flag(const std::string& key, bool otherwise);
  /// An activation by the name that `activate` has for it; the file has Hugging Face's name.
  std::string activation(const std::string& key, const std::string& otherwise);
  /// nullptr where it is absent or null.
  const nlohmann::json* object(const std::string& key);

  /// @throws Error naming the key unless it is absent, null or this.
  void only(const std::string& key, const nlohmann::json& value);
  /// These keys say nothing about what the model computes.
  void ignore(const std::vector<std::string>& keys);
  /// @throws Error naming all keys that nothing has asked for.
  void done() const;
  /// @throws Error: this model has no such `what`.
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

 private:
  const nlohmann::json* find(const std::string& key);

  std::string type_;
  nlohmann::json config_;
  std::set<std::string> known_;
};

}  // namespace riesz::models::detail
