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
std::string in_whole_quotes(std::string_view text);

/// What a message quotes: `escaped`, and of more than 200 characters the first 140 and the last 40, with " …
/// " between them and how many bytes it has.
std::string in_quotes(std::string_view text);

/// The same without quotation marks.
std::string in_short(std::string_view text);

/// Bytes as text that a terminal can show: UTF-8 stays; control characters but the new line, and bytes of no
/// character, such as of one that is cut off, become \xNN.
std::string printable(const std::string& bytes);

}  // namespace riesz
