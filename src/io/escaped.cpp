// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/escaped.h"

#include <cstddef>

#include "riesz/io/byte_text.h"

namespace riesz {
namespace {

std::string code_point(unsigned char last) {
  static constexpr char kHex[] = "0123456789abcdef";
  return {'\\', 'u', '0', '0', kHex[last >> 4], kHex[last & 15]};
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string all;
  std::string plain;  // since the last character that was escaped
  const auto put = [&](const std::string& instead) {
    all += printable(plain) + instead;
    plain.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == '"' || byte == '\\') {
      put({'\\', text[i]});
    } else if (byte == '\n' || byte == '\t') {
      put(byte == '\n' ? "\\n" : "\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      put(code_point(byte));
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // control characters of two bytes
      put(code_point(next));
      ++i;
    } else {
      plain += text[i];
    }
  }
  put("");
  return all;
}

std::string in_quotes(std::string_view text) { return '"' + escaped(text) + '"'; }

}  // namespace riesz
