// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <vector>

namespace riesz {
namespace {

using ::testing::HasSubstr;

const Chart kChart{"a < b & \"c\"",
                   "step",
                   "loss",
                   {{"training", {{0, 2}, {50, 1}, {100, 0.5}}}, {"held out", {{100, 0.75}}}}};

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// Is every element closed, in order?
bool well_formed(const std::string& text) {
  static const std::regex kTag("<(/?)([a-z]+)((?:\\s+[A-Za-z0-9-]+=\"[^\"<&]*\")*)\\s*(/?)>");
  std::vector<std::string> open;
  std::string rest;
  std::string::const_iterator from = text.begin();
  for (const std::smatch& tag : matches(text, kTag)) {
    rest.append(from, tag[0].first);
    from = tag[0].second;
    if (tag[1].length() == 0 && tag[4].length() == 0) open.push_back(tag[2]);
    if (tag[1].length() == 1) {
      if (open.empty() || open.back() != tag[2]) return false;
      open.pop_back();
    }
  }
  rest.append(from, text.end());
  return open.empty() && rest.find_first_of("<>") == std::string::npos;
}

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
