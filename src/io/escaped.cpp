// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/escaped.h"

#include <algorithm>
#include <cstddef>

#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

constexpr char kHex[] = "0123456789abcdef";

/// Of a control character.
std::string code_point(char32_t code) { return {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]}; }

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

std::string in_quotes(std::string_view text) { return '"' + escaped(text) + '"'; }

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
