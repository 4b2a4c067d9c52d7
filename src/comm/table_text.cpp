// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/table_text.h"

#include <algorithm>
#include <cstddef>

namespace riesz {
namespace {

/// Of UTF-8: all bytes but those that go on with a character, 10xxxxxx.
std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view before) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], code_points(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    text += before;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - code_points(row[i]), ' ');
      const bool right = sides[std::min(i, sides.size() - 1)] == 'r';
      text += (i > 0 ? "  " : "") + (right ? space : "") + row[i];
      if (!right && i + 1 < row.size()) text += space;
    }
    text += "\n";
  }
  return text;
}

}  // namespace riesz
