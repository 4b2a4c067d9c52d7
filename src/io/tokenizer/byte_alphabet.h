// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace riesz {

/// GPT-2's byte alphabet: a character for each byte, none of them a space or a control character, so any
/// bytes are a word in it. Bytes with a visible Latin-1 character stand for themselves; the others are
/// U+0100, U+0101, … in order. So a space is Ġ and a new line Ċ. A bijection (Radford et al., 2019;
/// bytes_to_unicode).
std::string in_byte_alphabet(std::string_view bytes);

/// The bytes that a word stands for; nothing where it has a character outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view word);

/// The bytes in the order of their characters, which is the order of their ids in GPT-2: 33 is the first.
std::array<unsigned char, 256> bytes_in_alphabet_order();

}  // namespace riesz
