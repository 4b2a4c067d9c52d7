// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/table_text.h"

#include <gtest/gtest.h>

namespace riesz::testing {
namespace {

TEST(TableText, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table_text({}, "l"), "");
  EXPECT_EQ(table_text({{"", "busy", "n"}, {"worker 1", "3", "12"}}, "lr"),
            "          busy   n\n"
            "worker 1     3  12\n");
  EXPECT_EQ(table_text({{"a", "bb"}, {"ccc", "d", "further"}, {"e"}}, "l", "> "),
            "> a    bb\n"
            "> ccc  d   further\n"
            "> e\n");
  EXPECT_EQ(table_text({{"time", "of"}, {"1 s", "a, b"}}, "rl"),
            "time  of\n"
            " 1 s  a, b\n");
}

TEST(TableText, ACharacterOfSeveralBytesIsOnePlace) {
  EXPECT_EQ(table_text({{"\u00e4\u20ac\U0001f600", "x"}, {"abcd", "\u00e9"}}, "lr"),
            "\u00e4\u20ac\U0001f600   x\n"
            "abcd  \u00e9\n");
}

TEST(TableText, AListOfNumbersIsAText) {
  EXPECT_EQ(list_text(std::vector<int>{}), "");
  EXPECT_EQ(list_text(std::vector<int>{3}), "3");
  EXPECT_EQ(list_text(std::vector<std::int64_t>{0, -2, 15}), "0, -2, 15");
}

}  // namespace
}  // namespace riesz::testing
