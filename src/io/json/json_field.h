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

/// A value of a JSON file, with its place. Each call @throws Error naming that place where the value or the
/// member asked for is missing, of another kind or out of range.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  /// A member, which must be there and not null.
  JsonField operator[](const std::string& key) const;
  /// A member; nothing where it is missing or null.
  std::optional<JsonField> find(const std::string& key) const;
  /// The elements of a list.
  std::vector<JsonField> elements() const;

  std::string text() const;
  /// From 0 to 2³² − 2.
  std::uint32_t token_id() const;
  double number(double least, double most) const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  /// Any integer from 0 to 2⁶⁴ − 1.
  std::uint64_t digest() const;
  bool flag(const std::string& key, bool otherwise) const;
  /// The same of a member that must be there.
  bool flag(const std::string& key) const;
  /// Is there such a member? It may be null.
  bool has(const std::string& key) const { return value_->is_object() && value_->contains(key); }
  /// The value for messages: as JSON, cut where it is long.
  std::string shown() const;
  const nlohmann::json& value() const { return *value_; }

  /// @throws Error naming any member with another name, so that no unknown member is ignored silently.
  void allow(std::initializer_list<std::string_view> keys) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const nlohmann::json* value_;
  std::string where_;
};

/// A file's JSON. @throws Error naming the file where it cannot be read, or as `json_of`.
nlohmann::json read_json(const std::string& path);

}  // namespace riesz::detail
