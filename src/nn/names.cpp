// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// The number that the text begins with, which is taken from it.
std::optional<long> take_number(std::string_view& text) {
  std::size_t digits = 0;
  long number = 0;
  for (; digits < std::min<std::size_t>(text.size(), 9) &&
         std::isdigit(static_cast<unsigned char>(text[digits]));
       ++digits)
    number = 10 * number + (text[digits] - '0');
  if (digits == 0) return {};
  text.remove_prefix(digits);
  return number;
}

/// Of what stands between [ and ].
std::pair<long, long> range(const std::string& pattern, std::string_view inside) {
  const auto first = take_number(inside);
  const bool dash = !inside.empty() && inside.front() == '-';
  if (dash) inside.remove_prefix(1);
  const auto last = dash ? take_number(inside) : first;
  RIESZ_CHECK(first && last && inside.empty(), "The pattern '", pattern,
              "': between [ and ] stands a range of integers, such as [0-11]");
  return {*first, *last};
}

/// Dots stand for themselves: no sign of a pattern means one.
bool fits(const std::string& whole, std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return fits(whole, pattern.substr(1), text) ||
           (!text.empty() && text.front() != '.' && fits(whole, pattern, text.substr(1)));
  if (pattern.front() == '[') {
    const std::size_t end = pattern.find(']');
    RIESZ_CHECK(end != std::string_view::npos, "The pattern '", whole, "' has a [ without ]");
    const auto [first, last] = range(whole, pattern.substr(1, end - 1));
    const auto number = take_number(text);
    return number && first <= *number && *number <= last && fits(whole, pattern.substr(end + 1), text);
  }
  if (text.empty()) return false;
  const bool same = pattern.front() == '?' ? text.front() != '.' : text.front() == pattern.front();
  return same && fits(whole, pattern.substr(1), text.substr(1));
}

/// The path without its last name, and that name if it is a number.
std::optional<std::pair<std::string, long>> numbered(const std::string& path) {
  const std::size_t begin = path.rfind('.') + 1;  // 0 if there is no dot
  std::string_view name = std::string_view(path).substr(begin);
  const auto number = take_number(name);
  if (!number || !name.empty()) return {};
  return std::pair(path.substr(0, begin), *number);
}

}  // namespace

bool name_matches(const std::string& pattern, const std::string& path) {
  return path.empty() ? pattern.empty() : fits(pattern, pattern, path);
}

std::string shortened(const std::vector<std::string>& paths) {
  std::string text;
  for (std::size_t begin = 0, end; begin < paths.size(); begin = end) {
    const auto first = numbered(paths[begin]);
    long last = first ? first->second : 0;
    for (end = begin + 1; first && end < paths.size(); ++end, ++last) {
      if (numbered(paths[end]) != std::pair(first->first, last + 1)) break;
    }
    text += begin > 0 ? ", " : "";
    text += end - begin == 1 ? paths[begin] : concat(first->first, "[", first->second, "-", last, "]");
  }
  return text;
}

}  // namespace riesz
