// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace riesz::detail {

/// A value of a JSON file, and where it stands, which every message about it names.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  /// A member; it must be there and not null.
  JsonField operator[](const std::string& key) const;
  /// A member if it is there and not null.
  std::optional<JsonField> find(const std::string& key) const;
  /// The elements of a list.
  std::vector<JsonField> elements() const;

  std::string text() const;
  std::uint32_t number() const;
  bool flag(const std::string& key, bool otherwise) const;
  const nlohmann::json& value() const { return *value_; }

  /// Refuses other members: what is not known cannot be left out silently.
  void allow(std::initializer_list<std::string_view> keys) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const nlohmann::json* value_;
  std::string where_;
};

/// A file's bytes, and its JSON. @throws Error naming it where it cannot be read or is no JSON.
std::string read_text_file(const std::string& path);
nlohmann::json read_json(const std::string& path);

}  // namespace riesz::detail
