// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// Rows of cells as lines of text: columns two spaces apart, each as wide as its widest cell. A code point of
/// UTF-8 counts as one place. `sides` says of each column on which side its cells stand, 'l' or 'r'; its last
/// letter holds for all further columns. Rows may be of different lengths; nothing follows a row's last cell.
/// Each line begins with `before`.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view sides,
                       std::string_view before = "");

}  // namespace riesz
