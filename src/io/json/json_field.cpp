// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/json/json_field.h"

#include <algorithm>
#include <limits>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"

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
  return static_cast<std::uint32_t>(integer(0, std::numeric_limits<std::uint32_t>::max() - 1));
}

double JsonField::number(double least, double most) const {
  const bool good = value_->is_number() && *value_ >= least && *value_ <= most;
  if (!good) refuse(concat("is ", shown(), "; it must be a number from ", least, " to ", most));
  return value_->get<double>();
}

std::int64_t JsonField::integer(std::int64_t least, std::int64_t most) const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = !value_->is_number_unsigned() || value_->get<std::uint64_t>() <= kMost;
  const bool good = value_->is_number_integer() && fits && *value_ >= least && *value_ <= most;
  if (!good) refuse(concat("is ", shown(), "; it must be an integer from ", least, " to ", most));
  return value_->get<std::int64_t>();
}

std::uint64_t JsonField::digest() const {
  if (!value_->is_number_unsigned())
    refuse(concat("is ", shown(), "; it must be an integer from 0 to 2^64 - 1"));
  return value_->get<std::uint64_t>();
}

std::string JsonField::shown() const {
  constexpr std::size_t kMost = 60;
  const std::string text = value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMost ? printable(text) : printable(text.substr(0, kMost)) + " …";
}

bool JsonField::flag(const std::string& key, bool otherwise) const {
  return find(key) ? flag(key) : otherwise;
}

bool JsonField::flag(const std::string& key) const {
  const JsonField field = (*this)[key];
  if (!field.value().is_boolean()) field.refuse("is neither true nor false");
  return field.value().get<bool>();
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

nlohmann::json read_json(const std::string& path) { return json_of(in_quotes(path), bytes_of_file(path)); }

}  // namespace riesz::detail
