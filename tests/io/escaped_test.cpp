// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/escaped.h"

#include <gtest/gtest.h>

namespace riesz {
namespace {

TEST(InQuotes, KeepsTextAndEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(in_quotes("a b=3 α → c"), "\"a b=3 α → c\"");
  EXPECT_EQ(in_quotes("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(in_quotes("two\nlines\tand a \x1b[31mcolour\x7f"),
            "\"two\\nlines\\tand a \\u001b[31mcolour\\u007f\"");
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(in_quotes("\xc2\x9b"
                      "31m"),
            "\"\\u009b31m\"");  // a control character of two bytes
  EXPECT_EQ(in_quotes("\xff"), "\"\\xff\"");
  EXPECT_EQ(in_quotes(""), "\"\"");
}

/// What a user gave may be long: a message says how it begins and ends, and how long it is.
TEST(InQuotes, CutsWhatIsLong) {
  const std::string whole(200, 'a');
  EXPECT_EQ(in_quotes(whole), '"' + whole + '"');
  EXPECT_EQ(in_quotes(whole + "b"),
            '"' + std::string(140, 'a') + " … " + std::string(39, 'a') + "b\" (201 bytes)");
  EXPECT_EQ(in_short(whole + "b"), std::string(140, 'a') + " … " + std::string(39, 'a') + "b (201 bytes)");
  EXPECT_EQ(in_short("a\n"), "a\\n");
  std::string greek, first, last;
  for (int i = 0; i < 300; ++i) greek += "α";
  for (int i = 0; i < 140; ++i) first += "α";
  for (int i = 0; i < 40; ++i) last += "α";
  EXPECT_EQ(in_quotes(greek), '"' + first + " … " + last + "\" (600 bytes)");
  EXPECT_EQ(in_quotes(greek.substr(0, 400)), '"' + greek.substr(0, 400) + '"');
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += "\\x80";
  EXPECT_TRUE(in_quotes(std::string(400'000, '\x80')).ends_with(" … " + bytes + "\" (400000 bytes)"));
  EXPECT_EQ(in_whole_quotes(greek), '"' + greek + '"');
}

TEST(Escaped, IsTheSameWithoutQuotationMarks) { EXPECT_EQ(escaped("a\rb"), "a\\u000db"); }

TEST(Printable, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(printable("a b\n~"), "a b\n~");
  EXPECT_EQ(printable("\xce\xb1 \xe2\x86\x92 \xf0\x9f\x99\x82"), "\xce\xb1 \xe2\x86\x92 \xf0\x9f\x99\x82");
  EXPECT_EQ(printable(std::string("\0\t\x1b[", 4)), "\\x00\\x09\\x1b[");
  EXPECT_EQ(printable("\xff\x80\x7f"), "\\xff\\x80\\x7f");
  EXPECT_EQ(printable("\xe2\x86"), "\\xe2\\x86");           // a character cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a surrogate pair
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // a control character of two bytes
  EXPECT_EQ(printable("\xce"
                      "a"),
            "\\xcea");
}

}  // namespace
}  // namespace riesz
