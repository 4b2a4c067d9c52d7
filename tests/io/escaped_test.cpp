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

TEST(Escaped, IsTheSameWithoutQuotationMarks) { EXPECT_EQ(escaped("a\rb"), "a\\u000db"); }

}  // namespace
}  // namespace riesz
