// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace riesz {

/// A character of UTF-8 and how many bytes it takes.
struct Character {
  char32_t code;
  std::size_t size;  ///< 0 where there is none
};

/// The first character of a text. Its size is 0 where the text is empty or does not begin with UTF-8. No
/// UTF-8 are a byte out of place, an overlong form, a surrogate, a number above U+10FFFF, and a character cut
/// off.
Character first_character(std::string_view text);

/// Writes a character behind a text.
void append_character(char32_t code, std::string& text);

/// The length of the longest beginning of a text that is UTF-8.
std::size_t utf8_prefix(std::string_view text);

/// The length of a text without a character that is cut off at its end. This much of a stream may be shown.
std::size_t whole_characters(std::string_view text);

/// Is it one of Unicode's control characters, U+0000 to U+001F and U+007F to U+009F?
bool is_control(char32_t code);

/// Has the character Unicode's property White_Space?
bool is_white_space(char32_t code);

}  // namespace riesz
