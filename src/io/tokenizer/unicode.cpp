// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/unicode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace riesz {
namespace {

/// The length that a first byte announces; 0 if none begins with it.
std::size_t announced(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

Character first_character(std::string_view text) {
  constexpr Character kNone{0, 0};
  if (text.empty()) return kNone;
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = announced(first);
  if (size == 1) return {first, 1};
  if (size == 0 || text.size() < size) return kNone;
  char32_t code = first & (0x7f >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return kNone;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? kNone : Character{code, size};
}

void append_character(char32_t code, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  if (code >= 0x80) put(0x80 | (code & 0x3f));
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    while (text.size() - at >= sizeof eight) {  // ASCII, eight bytes at once
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) != 0) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const std::size_t size = first_character(text.substr(at)).size;
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::size_t at = text.size() - back;
    if (is_continuation(text[at])) continue;
    return announced(static_cast<unsigned char>(text[at])) > back ? at : text.size();
  }
  return text.size();
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

bool is_white_space(char32_t code) {
  return (code >= 0x9 && code <= 0xd) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

}  // namespace riesz
