// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/json_field.h"

#include <algorithm>
#include <limits>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/safetensors/strict_json.h"

namespace riesz::detail {

JsonField JsonField::operator[](const std::string& key) const {
  const auto found = find(key);
  if (!found) refuse(concat("has no ", in_quotes(key)));
  return *found;
}

std::optional<JsonField> JsonField::find(const std::string& key) const {
  if (!value_->is_object()) refuse("is no object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return JsonField(*found, concat(where_, where_.ends_with(": ") ? "" : ".", key));
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) refuse("is no list");
  std::vector<JsonField> all;
  for (const nlohmann::json& element : *value_)
    all.emplace_back(element, concat(where_, "[", all.size(), "]"));
  return all;
}

std::string JsonField::text() const {
  if (!value_->is_string()) refuse("is no text");
  return value_->get<std::string>();
}

std::uint32_t JsonField::token_id() const {
  const bool good = value_->is_number_unsigned() &&
                    value_->get<std::uint64_t>() < std::numeric_limits<std::uint32_t>::max();
  if (!good) refuse("is no number of a token");
  return value_->get<std::uint32_t>();
}

bool JsonField::flag(const std::string& key, bool otherwise) const {
  const auto field = find(key);
  if (!field) return otherwise;
  if (!field->value().is_boolean()) field->refuse("is neither true nor false");
  return field->value().get<bool>();
}

void JsonField::allow(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) refuse("is no object");
  for (const auto& [key, member] : value_->items()) {
    if (!member.is_null() && std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(concat("has ", in_quotes(key), ", which is not supported"));
  }
}

void JsonField::refuse(const std::string& why) const {
  throw_error(concat(where_, where_.ends_with(": ") ? "it " : " ", why));
}

nlohmann::json read_json(const std::string& path) {
  const std::string text = bytes_of_file(path);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw_error(concat(in_quotes(path), " is no JSON", where_no_json(text, error)));
  }
}

}  // namespace riesz::detail
