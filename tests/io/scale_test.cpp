// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace riesz {
namespace {

TEST(Scale, IsLinearBetweenRoundNumbers) {
  const Scale scale({0.13, 2.31, 1}, Fit::wide);

  EXPECT_FALSE(scale.logarithmic());
  EXPECT_DOUBLE_EQ(scale.place(0), 0);
  EXPECT_DOUBLE_EQ(scale.place(2.5), 1);
  EXPECT_DOUBLE_EQ(scale.place(1.25), 0.5);
  EXPECT_EQ(scale.ticks(5), (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
}

TEST(Scale, IsLogarithmicOverAWideSpan) {
  const std::vector<double> values = {0.002, 2};
  const Scale scale(values, Fit::wide);

  EXPECT_TRUE(scale.logarithmic());
  EXPECT_DOUBLE_EQ(scale.place(0.002), 0);
  EXPECT_DOUBLE_EQ(scale.place(2), 1);
  EXPECT_NEAR(scale.place(std::sqrt(0.002 * 2)), 0.5, 1e-12);
  ASSERT_EQ(scale.ticks(5).size(), 3u);
  EXPECT_NEAR(scale.ticks(5)[0], 0.01, 1e-12);
  EXPECT_FALSE(Scale(values, Fit::round).logarithmic());
  EXPECT_FALSE(Scale({0.0, 2.0}, Fit::wide).logarithmic());
}

TEST(Scale, FitsExactlyWithRoundTicksInside) {
  const Scale scale({1, 1200}, Fit::exact);

  EXPECT_EQ(scale.place(1), 0);
  EXPECT_EQ(scale.place(1200), 1);
  EXPECT_EQ(scale.ticks(5), (std::vector<double>{200, 400, 600, 800, 1000, 1200}));
}

TEST(Scale, TakesOneValueNoneAndWhatIsNotFinite) {
  EXPECT_NEAR(Scale({3, 3}, Fit::wide).place(3), 0.5, 1e-12);
  EXPECT_EQ(Scale({}, Fit::wide).place(1), 1);
  EXPECT_LE(Scale({1, 2, std::nan(""), std::numeric_limits<double>::infinity()}, Fit::wide).place(2), 1);
}

}  // namespace
}  // namespace riesz
