// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace riesz {

/// A text as one line that is safe for a terminal. Quotation marks, backslashes and control characters are
/// written as in TOML (\" \\ \n \u001b), and bytes that are no UTF-8 as \xNN. Messages use it to repeat a
/// user's words.
std::string escaped(std::string_view text);

/// `escaped`, in quotation marks. For UTF-8 text it is a basic string of TOML, which reads back as the same
/// text.
std::string in_whole_quotes(std::string_view text);

/// A quotation for messages: `escaped`, in quotation marks. A text of more than 200 characters is cut to the
/// first 140 and the last 40, with " … " between them, and its number of bytes.
std::string in_quotes(std::string_view text);

/// The same without quotation marks.
std::string in_short(std::string_view text);

/// Bytes as text that a terminal can show. UTF-8 and new lines stay. Other control characters, and bytes of
/// no character, such as of one that is cut off, become \xNN.
std::string printable(const std::string& bytes);

}  // namespace riesz
