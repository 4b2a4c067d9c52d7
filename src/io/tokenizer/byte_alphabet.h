// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace riesz {

/// GPT-2's alphabet: a character for each byte, none of them a space or a control, so that any bytes are a
/// word of it. Bytes that Latin-1 shows stand for themselves; the others are U+0100, U+0101, … in order: a
/// space is Ġ, a new line Ċ. A bijection (Radford et al., 2019; bytes_to_unicode).
std::string in_byte_alphabet(std::string_view bytes);

/// The bytes that a word means; nothing where it has a character that is not of the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view word);

/// The bytes in the order of their characters, which is the order of their ids in GPT-2: 33 is the first.
std::array<unsigned char, 256> bytes_in_alphabet_order();

}  // namespace riesz
