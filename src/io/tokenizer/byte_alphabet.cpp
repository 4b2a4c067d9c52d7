// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/byte_alphabet.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character;
  std::array<int, 512> byte;  // by character; -1: not of the alphabet
};

const Alphabet& alphabet() {
  static const Alphabet made = [] {
    Alphabet all{};
    all.byte.fill(-1);
    char32_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool shown = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      const char32_t character = shown ? static_cast<char32_t>(byte) : next++;
      all.character[static_cast<std::size_t>(byte)] = character;
      all.byte[character] = byte;
    }
    return all;
  }();
  return made;
}

}  // namespace

std::string in_byte_alphabet(std::string_view bytes) {
  std::string word;
  for (const char byte : bytes) {
    append_character(alphabet().character[static_cast<unsigned char>(byte)], word);
  }
  return word;
}

std::optional<std::string> from_byte_alphabet(std::string_view word) {
  std::string bytes;
  while (!word.empty()) {
    const Character character = first_character(word);
    if (character.size == 0 || character.code >= alphabet().byte.size()) return std::nullopt;
    const int byte = alphabet().byte[character.code];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
    word.remove_prefix(character.size);
  }
  return bytes;
}

std::array<unsigned char, 256> bytes_in_alphabet_order() {
  std::array<unsigned char, 256> order{};
  std::iota(order.begin(), order.end(), static_cast<unsigned char>(0));
  std::sort(order.begin(), order.end(), [](unsigned char a, unsigned char b) {
    return alphabet().character[a] < alphabet().character[b];
  });
  return order;
}

}  // namespace riesz
