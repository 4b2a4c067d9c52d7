// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/chat/template_functions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/unicode.h"

namespace riesz::detail {
namespace {

using nlohmann::json;

std::string shown(const TemplateValue& value) {
  return value ? in_quotes(value->dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60))
               : "what is undefined";
}

/// A byte that is no UTF-8 is one by itself.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  for (; !text.empty(); text.remove_prefix(all.back().size()))
    all.push_back(text.substr(0, std::max<std::size_t>(first_character(text).size, 1)));
  return all;
}

/// As Python's str.strip.
std::string stripped(const std::string& text, bool left, bool right) {
  const std::vector<std::string_view> all = characters(text);
  const auto is_white = [&](std::size_t i) {
    const Character character = first_character(all[i]);
    const bool separator = character.code >= 0x1c && character.code <= 0x1f;
    return character.size > 0 && (separator || is_white_space(character.code));
  };
  std::size_t first = 0, last = all.size();
  while (left && first < last && is_white(first)) ++first;
  while (right && first < last && is_white(last - 1)) --last;
  std::string rest;
  for (std::size_t i = first; i < last; ++i) rest += all[i];
  return rest;
}

/// ASCII letters alone change.
std::string in_case(std::string text, int (*change)(int)) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 128) c = static_cast<char>(change(static_cast<unsigned char>(c)));
  }
  return text;
}

std::int64_t length_of(const TemplateValue& value) {
  if (!(value && (value->is_string() || value->is_structured())))
    throw TemplateProblem(concat(shown(value), " has no length"));
  if (!value->is_string()) return static_cast<std::int64_t>(value->size());
  const auto& text = value->get_ref<const std::string&>();
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

[[noreturn]] void refuse_number() { throw TemplateProblem("a number is too great: 64 bits do not hold it"); }

void check_arguments(const std::vector<std::string>& given, std::size_t wanted) {
  if (!(given.size() == wanted))
    throw TemplateProblem(concat("a method of a text is given ", given.size(), " arguments; only those with ",
                                 wanted, " are supported"));
}

}  // namespace

std::string text_of(const TemplateValue& value) {
  if (!(value && value->is_string()))
    throw TemplateProblem(concat(shown(value), " is used as a text, which it is not"));
  return value->get<std::string>();
}

std::int64_t integer_of(const TemplateValue& value) {
  if (!(value && value->is_number_integer()))
    throw TemplateProblem(concat(shown(value), " is used as an integer, which it is not"));
  return value->get<std::int64_t>();
}

TemplateValue added(const TemplateValue& a, const TemplateValue& b) {
  if (a && b && a->is_number_integer() && b->is_number_integer()) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(integer_of(a), integer_of(b), &sum)) refuse_number();
    return TemplateValue(sum);
  }
  if (a && b && a->is_array() && b->is_array()) {
    json all = *a;
    all.insert(all.end(), b->begin(), b->end());
    return TemplateValue(all);
  }
  return TemplateValue(text_of(a) + text_of(b));
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t rest = 0;
  if (__builtin_sub_overflow(a, b, &rest)) refuse_number();
  return rest;
}

std::int64_t multiplied(std::int64_t a, char sign, std::int64_t b) {
  std::int64_t product = 0;
  if (sign == '*' && __builtin_mul_overflow(a, b, &product)) refuse_number();
  if (sign == '*') return product;
  if (!(b != 0)) throw TemplateProblem(concat(a, " is divided by 0"));
  if (b == -1) return sign == '%' ? 0 : difference(0, a);  // the least number by -1 is a signal
  const std::int64_t rest = (a % b + b) % b;
  return sign == '%' ? rest : (a - rest) / b;
}

bool is_within(const TemplateValue& a, const TemplateValue& b) {
  if (!(a && b)) throw TemplateProblem(concat(shown(a), " is looked for in ", shown(b)));
  if (b->is_object()) return a->is_string() && b->contains(a->get<std::string>());
  if (b->is_array()) return std::find(b->begin(), b->end(), *a) != b->end();
  return text_of(b).find(text_of(a)) != std::string::npos;
}

TemplateValue element_of(const TemplateValue& value, const TemplateValue& key) {
  if (!(value && key))
    throw TemplateProblem(concat("an element of ", shown(value), " is asked for by ", shown(key)));
  if (value->is_object() && key->is_string()) {
    const auto found = value->find(key->get<std::string>());
    return found != value->end() ? TemplateValue(*found) : std::nullopt;
  }
  if (!key->is_number_integer() || !(value->is_array() || value->is_string())) return std::nullopt;
  const std::vector<std::string_view> letters =
      value->is_string() ? characters(value->get_ref<const std::string&>()) : std::vector<std::string_view>();
  const auto size = static_cast<std::int64_t>(value->is_string() ? letters.size() : value->size());
  const std::int64_t index = integer_of(key) < 0 ? integer_of(key) + size : integer_of(key);
  if (index < 0 || index >= size) return std::nullopt;
  const auto at = static_cast<std::size_t>(index);
  return TemplateValue(value->is_string() ? json(std::string(letters[at])) : (*value)[at]);
}

TemplateValue slice_of(const TemplateValue& value, const TemplateValue& first, const TemplateValue& end) {
  if (!(value && value->is_array()))
    throw TemplateProblem(concat("a part of ", shown(value), " is asked for; only lists have parts"));
  const auto size = static_cast<std::int64_t>(value->size());
  const auto place = [&](const TemplateValue& bound, std::int64_t otherwise) {
    const std::int64_t at = bound ? integer_of(bound) : otherwise;
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t from = place(first, 0), to = std::max(from, place(end, size));
  return TemplateValue(json(json::array_t(value->begin() + from, value->begin() + to)));
}

TemplateFunction template_filter(const std::string& name) {
  static const std::map<std::string, TemplateFunction> filters = {
      {"trim", [](const TemplateValue& x) { return TemplateValue(stripped(text_of(x), true, true)); }},
      {"length", [](const TemplateValue& x) { return TemplateValue(length_of(x)); }},
      {"count", [](const TemplateValue& x) { return TemplateValue(length_of(x)); }},
      {"upper", [](const TemplateValue& x) { return TemplateValue(in_case(text_of(x), std::toupper)); }},
      {"lower", [](const TemplateValue& x) { return TemplateValue(in_case(text_of(x), std::tolower)); }},
      {"first", [](const TemplateValue& x) { return element_of(x, json(0)); }},
      {"last", [](const TemplateValue& x) { return element_of(x, json(-1)); }},
      {"string", [](const TemplateValue& x) { return TemplateValue(written(x)); }}};
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

TemplateTest template_test(const std::string& name) {
  static const std::map<std::string, TemplateTest> tests = {
      {"defined", [](const TemplateValue& x) { return x.has_value(); }},
      {"undefined", [](const TemplateValue& x) { return !x.has_value(); }},
      {"none", [](const TemplateValue& x) { return x && x->is_null(); }},
      {"string", [](const TemplateValue& x) { return x && x->is_string(); }},
      {"mapping", [](const TemplateValue& x) { return x && x->is_object(); }},
      {"sequence", [](const TemplateValue& x) { return x && (x->is_string() || x->is_structured()); }},
      {"iterable", [](const TemplateValue& x) { return x && (x->is_string() || x->is_structured()); }},
      {"number", [](const TemplateValue& x) { return x && (x->is_number() || x->is_boolean()); }},
      {"boolean", [](const TemplateValue& x) { return x && x->is_boolean(); }},
      {"true", [](const TemplateValue& x) { return x && *x == true; }},
      {"false", [](const TemplateValue& x) { return x && *x == false; }}};
  const auto found = tests.find(name);
  return found == tests.end() ? nullptr : found->second;
}

TextMethod text_method(const std::string& name) {
  using Given = std::vector<std::string>;
  static const std::map<std::string, TextMethod> methods = {
      {"strip", [](const std::string& x,
                   const Given& g) { return check_arguments(g, 0), json(stripped(x, true, true)); }},
      {"lstrip", [](const std::string& x,
                    const Given& g) { return check_arguments(g, 0), json(stripped(x, true, false)); }},
      {"rstrip", [](const std::string& x,
                    const Given& g) { return check_arguments(g, 0), json(stripped(x, false, true)); }},
      {"upper", [](const std::string& x,
                   const Given& g) { return check_arguments(g, 0), json(in_case(x, std::toupper)); }},
      {"lower", [](const std::string& x,
                   const Given& g) { return check_arguments(g, 0), json(in_case(x, std::tolower)); }},
      {"startswith",
       [](const std::string& x, const Given& g) { return check_arguments(g, 1), json(x.starts_with(g[0])); }},
      {"endswith",
       [](const std::string& x, const Given& g) { return check_arguments(g, 1), json(x.ends_with(g[0])); }}};
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace riesz::detail
