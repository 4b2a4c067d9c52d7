// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/number_text.h"

#include <gtest/gtest.h>

namespace riesz {
namespace {

TEST(Duration, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration(0.4), "0 s");
  EXPECT_EQ(duration(59.4), "59 s");
  EXPECT_EQ(duration(60), "1 min 00 s");
  EXPECT_EQ(duration(200), "3 min 20 s");
  EXPECT_EQ(duration(7500), "2 h 05 min");
}

TEST(Grouped, HasCommasBetweenThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
}

}  // namespace
}  // namespace riesz
