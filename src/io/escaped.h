// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace riesz {

/// A text as one line that a terminal may show: quotation marks, backslashes and control characters as TOML
/// writes them (\" \\ \n \u001b), what is no UTF-8 as \xNN. A message passes a user's words through this
/// before it repeats them.
std::string escaped(std::string_view text);

/// `escaped`, in quotation marks: of UTF-8 text, a basic string of TOML, which reads back as the same text.
std::string in_quotes(std::string_view text);

/// Bytes as text that a terminal can show: UTF-8 stays; control characters but the new line, and bytes of no
/// character, such as of one that is cut off, become \xNN.
std::string printable(const std::string& bytes);

}  // namespace riesz
