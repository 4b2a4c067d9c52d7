// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <vector>

#include "../io/well_formed.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;
using testing::matches;
using testing::well_formed;

const Chart kChart{"a < b & \"c\"",
                   "step",
                   "loss",
                   {{"training", {{0, 2}, {50, 1}, {100, 0.5}}}, {"held out", {{100, 0.75}}}}};

TEST(Svg, IsOneWellFormedDocument) {
  const std::string text = svg(kChart);

  EXPECT_TRUE(well_formed(text)) << text;
  EXPECT_EQ(text.find("<svg xmlns=\"http://www.w3.org/2000/svg\""), 0u);
  EXPECT_EQ(text.substr(text.size() - 7), "</svg>\n");
}

TEST(Svg, HasTitleLabelsNamesAndTicks) {
  const std::string text = svg(kChart);

  EXPECT_THAT(text, HasSubstr(">a &lt; b &amp; &quot;c&quot;</text>"));
  for (const char* label :
       {">step<", ">loss<", ">training<", ">held out<", ">0<", ">20<", ">100<", ">0.5<", ">2<"}) {
    EXPECT_THAT(text, HasSubstr(label));
  }
}

TEST(Svg, DrawsEachPointWhereTheTicksSay) {
  const std::string text = svg(kChart);

  const auto lines = matches(text, std::regex("<polyline[^>]*points=\"([^\"]*)\""));
  ASSERT_EQ(lines.size(), 2u);
  std::istringstream points(lines[0][1]);
  std::vector<double> x(3), y(3);
  for (std::size_t i = 0; i < 3; ++i) {
    char comma = 0;
    ASSERT_TRUE(points >> x[i] >> comma >> y[i]);
  }
  // The grid lines of the ticks 0, 100 (across) and 0.5, 2 (down) go through the first and the last point.
  std::ostringstream first, last;
  first << std::fixed;
  first.precision(1);
  first << "<line x1=\"" << x[0] << "\"";
  EXPECT_THAT(text, HasSubstr(first.str()));
  last << std::fixed;
  last.precision(1);
  last << "y1=\"" << y[2] << "\" x2=\"736.0\" y2=\"" << y[2] << "\"";
  EXPECT_THAT(text, HasSubstr(last.str()));
  EXPECT_NEAR(x[1], (x[0] + x[2]) / 2, 0.11);
  EXPECT_LT(y[0], y[1]);
  EXPECT_LT(y[1], y[2]);
  EXPECT_EQ(matches(text, std::regex("<circle")).size(), 4u);
}

TEST(Svg, HasNoMorePointsThanCanBeSeen) {
  Chart chart{"", "", "", {{"c", {}}}};
  for (int i = 0; i < 100000; ++i) chart.curves[0].points.push_back({static_cast<double>(i), 1.0 + i % 2});

  EXPECT_LT(svg(chart).size(), 20000u);
}

TEST(Svg, AnEmptyChartIsAPictureToo) { EXPECT_TRUE(well_formed(svg({"t", "x", "y", {{"c", {}}}}))); }

}  // namespace
}  // namespace riesz
