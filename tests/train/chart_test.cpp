// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/chart.h"

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

TEST(Thinned, TakesMeansOfNeighbours) {
  std::vector<Point> points;
  for (int i = 0; i < 10; ++i) points.push_back({static_cast<double>(i), 2.0 * i});
  points.push_back({10, std::nan("")});

  EXPECT_EQ(thinned(points, 5), (std::vector<Point>{{0.5, 1}, {2.5, 5}, {4.5, 9}, {6.5, 13}, {8.5, 17}}));
  EXPECT_EQ(thinned(points, 3).size(), 3u);
  EXPECT_EQ(thinned(points, 10).size(), 10u);
  EXPECT_TRUE(thinned({}, 5).empty());
}

TEST(LossChart, HasACurveOfEachLoss) {
  const Chart chart = loss_chart("t", {{1, 2.5, std::nullopt, 0, 0, 0, 0}, {2, 2.0, 2.25, 0, 0, 0, 0}});

  ASSERT_EQ(chart.curves.size(), 2u);
  EXPECT_EQ(chart.curves[0].points, (std::vector<Point>{{1, 2.5}, {2, 2.0}}));
  EXPECT_EQ(chart.curves[1].points, (std::vector<Point>{{2, 2.25}}));
}

}  // namespace
}  // namespace riesz
