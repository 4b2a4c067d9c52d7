// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/escaped.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

constexpr char kHex[] = "0123456789abcdef";

/// Of a control character.
std::string code_point(char32_t code) { return {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]}; }

std::size_t size_of_first(std::string_view text) {
  return std::max<std::size_t>(first_character(text).size, 1);
}

/// What is left of a long text.
struct TwoEnds {
  std::string_view first, last;
};

/// Nothing for a text of at most 200 characters, which is shown whole. Cost: that many characters.
std::optional<TwoEnds> ends_of(std::string_view text) {
  constexpr int kMost = 200, kFirst = 140, kLast = 40;
  std::size_t at = 0, first = 0;
  int count = 0;
  for (; at < text.size() && count <= kMost; ++count) {
    if (count == kFirst) first = at;
    at += size_of_first(text.substr(at));
  }
  if (count <= kMost) return std::nullopt;
  std::size_t last = text.size();
  for (int left = kLast; left > 0; --left) {
    std::size_t back = 1;  // a continuation byte is 10xxxxxx
    while (back < 4 && (static_cast<unsigned char>(text[last - back]) & 0xc0) == 0x80) ++back;
    last -= size_of_first(text.substr(last - back, back)) == back ? back : 1;
  }
  return TwoEnds{text.substr(0, first), text.substr(last)};
}

std::string shown(const TwoEnds& ends) { return escaped(ends.first) + " … " + escaped(ends.last); }

}  // namespace

std::string escaped(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const Character next = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(next.size, 1));
    text.remove_prefix(bytes.size());
    if (next.size == 0) {
      all += printable(std::string(bytes));
    } else if (next.code == '"' || next.code == '\\') {
      all.append({'\\', bytes[0]});
    } else if (next.code == '\n' || next.code == '\t') {
      all += next.code == '\n' ? "\\n" : "\\t";
    } else if (is_control(next.code)) {
      all += code_point(next.code);
    } else {
      all += bytes;
    }
  }
  return all;
}

std::string in_whole_quotes(std::string_view text) { return '"' + escaped(text) + '"'; }

std::string in_quotes(std::string_view text) {
  const std::optional<TwoEnds> ends = ends_of(text);
  if (!ends) return in_whole_quotes(text);
  return '"' + shown(*ends) + "\" (" + std::to_string(text.size()) + " bytes)";
}

std::string in_short(std::string_view text) {
  const std::optional<TwoEnds> ends = ends_of(text);
  return ends ? shown(*ends) + " (" + std::to_string(text.size()) + " bytes)" : escaped(text);
}

std::string printable(const std::string& bytes) {
  std::string text;
  for (std::string_view rest = bytes; !rest.empty();) {
    const Character next = first_character(rest);
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (next.size > 0 && (next.code == '\n' || !is_control(next.code))) {
      text += rest.substr(0, next.size);
      rest.remove_prefix(next.size);
    } else {
      text.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
      rest.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace riesz
