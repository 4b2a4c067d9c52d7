// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/metadata.h"

#include <charconv>
#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

/// Of an fp32 that was widened, the fp64 of its shortest decimal.
double as_written(double x) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, static_cast<float>(x));
  double y = x;
  std::from_chars(text, written.ptr, y);
  return y;
}

/// Those that an int64 has.
std::optional<std::int64_t> signed_of(std::uint64_t n) {
  if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(n);
}

}  // namespace

std::string to_string(GgufKind kind) {
  switch (kind) {
    case GgufKind::f32:
    case GgufKind::f64:
      return "a number";
    case GgufKind::flag:
      return "true or false";
    case GgufKind::text:
      return "a text";
    case GgufKind::list:
      return "a list";
    default:
      return "an integer";
  }
}

std::size_t GgufList::size() const {
  return std::visit([](const auto& all) { return all.size(); }, elements);
}

GgufMetadata::GgufMetadata(std::string file, std::map<std::string, GgufValue> values)
    : file_(std::move(file)), values_(std::move(values)) {}

void GgufMetadata::refuse(const std::string& key, const std::string& why) const {
  throw_error(concat("cannot use ", in_quotes(file_), ": its ", in_short(key), " ", why));
}

void GgufMetadata::refuse_kind(const std::string& key, const GgufValue& value, const char* wanted) const {
  const auto* list = std::get_if<GgufList>(&value.value);
  refuse(key, concat("is ", to_string(value.kind),
                     list ? concat(" of ", list->size(), ", each ", to_string(list->kind)) : "", ", not ",
                     wanted));
}

const GgufValue* GgufMetadata::find(const std::string& key, bool needed) const {
  const auto found = values_.find(key);
  if (found == values_.end() && needed) refuse(key, "is missing");
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t GgufMetadata::integer(const std::string& key, std::optional<std::int64_t> otherwise) const {
  const GgufValue* value = find(key, !otherwise);
  if (value == nullptr) return *otherwise;
  if (const auto* n = std::get_if<std::int64_t>(&value->value)) return *n;
  const auto* n = std::get_if<std::uint64_t>(&value->value);
  if (n == nullptr) refuse_kind(key, *value, "an integer");
  const auto fits = signed_of(*n);
  if (!fits) refuse(key, concat("is ", *n, ", which is more than 2^63 - 1"));
  return *fits;
}

double GgufMetadata::number(const std::string& key, std::optional<double> otherwise) const {
  const GgufValue* value = find(key, !otherwise);
  if (value == nullptr) return *otherwise;
  const auto* x = std::get_if<double>(&value->value);
  if (x == nullptr) refuse_kind(key, *value, "a number");
  return value->kind == GgufKind::f32 ? as_written(*x) : *x;
}

bool GgufMetadata::flag(const std::string& key, std::optional<bool> otherwise) const {
  const GgufValue* value = find(key, !otherwise);
  if (value == nullptr) return *otherwise;
  const auto* is = std::get_if<bool>(&value->value);
  if (is == nullptr) refuse_kind(key, *value, "true or false");
  return *is;
}

std::string GgufMetadata::text(const std::string& key, std::optional<std::string> otherwise) const {
  const GgufValue* value = find(key, !otherwise);
  if (value == nullptr) return *otherwise;
  const auto* text = std::get_if<std::string>(&value->value);
  if (text == nullptr) refuse_kind(key, *value, "a text");
  return *text;
}

const std::vector<std::string>& GgufMetadata::texts(const std::string& key) const {
  const GgufValue& value = *find(key, true);
  const auto* list = std::get_if<GgufList>(&value.value);
  const auto* texts = list ? std::get_if<std::vector<std::string>>(&list->elements) : nullptr;
  if (texts == nullptr) refuse_kind(key, value, "a list of texts");
  return *texts;
}

std::vector<std::int64_t> GgufMetadata::integers(const std::string& key) const {
  const GgufValue& value = *find(key, true);
  const auto* list = std::get_if<GgufList>(&value.value);
  if (list == nullptr) refuse_kind(key, value, "a list of integers");
  if (const auto* all = std::get_if<std::vector<std::int64_t>>(&list->elements)) return *all;
  const auto* all = std::get_if<std::vector<std::uint64_t>>(&list->elements);
  if (all == nullptr) refuse_kind(key, value, "a list of integers");
  std::vector<std::int64_t> result;
  for (const std::uint64_t n : *all) {
    const auto fits = signed_of(n);
    if (!fits) refuse(key, concat("has ", n, ", which is more than 2^63 - 1"));
    result.push_back(*fits);
  }
  return result;
}

}  // namespace riesz
