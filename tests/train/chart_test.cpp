// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace riesz {
namespace {

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
