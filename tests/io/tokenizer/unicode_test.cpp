// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <set>

#include "riesz/io/tokenizer/byte_alphabet.h"

namespace riesz {
namespace {

TEST(Characters, OfCodePointsComeBack) {
  for (char32_t code = 0; code < 0x110000; code += code < 0x11000 ? 1 : 61) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_character(code, text);
    const Character back = first_character(text + "x");
    ASSERT_EQ(back.code, code);
    ASSERT_EQ(back.size, text.size());
    ASSERT_EQ(first_character(text.substr(0, text.size() - 1)).size, 0u) << "a character cut off";
    ASSERT_EQ(whole_characters("ab" + text.substr(0, text.size() - 1)), 2u) << "which a stream holds back";
    ASSERT_EQ(whole_characters("ab" + text), 2 + text.size());
  }
}

TEST(Characters, AreNoneInWhatIsNoUtf8) {
  for (const char* text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x28\xa1"}) {
    EXPECT_EQ(first_character(text).size, 0u);
    EXPECT_EQ(utf8_prefix("fifteen bytes, " + std::string("é") + text + "and more"), 17u);
  }
  EXPECT_EQ(utf8_prefix("of ASCII alone, in two words of eight"), 37u);
}

TEST(ByteAlphabet, HasACharacterForEachByte) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    characters.insert(in_byte_alphabet(bytes));
    EXPECT_EQ(from_byte_alphabet(in_byte_alphabet(bytes)), bytes);
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(in_byte_alphabet(" é\n"), "ĠÃ©Ċ");
  EXPECT_EQ(from_byte_alphabet("a b"), std::nullopt);
  EXPECT_EQ(from_byte_alphabet("日"), std::nullopt);
}

}  // namespace
}  // namespace riesz
