// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// A table as lines of text. Columns are two spaces apart, each as wide as its widest cell; a code point of
/// UTF-8 counts as one character. `sides` has 'l' or 'r' for each column: where its cells are aligned. The
/// last letter holds for all further columns. Rows may have different lengths; nothing follows a row's last
/// cell. Each line begins with `before`.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view before = "");

/// Numbers as text, such as "0, 2, 5".
template <typename Number>
std::string list_text(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

}  // namespace riesz
