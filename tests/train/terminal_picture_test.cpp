// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/terminal_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace riesz {
namespace {

/// Characters, not bytes.
std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

TEST(TerminalPicture, DrawsALineInBraille) {
  const Chart chart{"", "step", "loss", {{"training", {{0, 0}, {10, 10}}}}};

  EXPECT_EQ(terminal_picture(chart, 6, 3),
            "    loss  ⠒ training\n"
            "10 ┤    ⡠⠊\n"
            "   │  ⡠⠊  \n"
            " 0 ┤⡠⠊    \n"
            "   └──────\n"
            "    0   10 step\n");
}

TEST(TerminalPicture, HasTheSizeAskedFor) {
  Chart chart{"", "step", "loss", {{"training", {}}, {"held out", {{500, 1.0}, {1000, 0.5}}}}};
  for (int i = 0; i <= 1000; ++i)
    chart.curves[0].points.push_back({static_cast<double>(i), 1 + 1.0 / (1 + i)});

  const std::vector<std::string> text = lines(terminal_picture(chart, 60, 12));

  ASSERT_EQ(text.size(), 1u + 12 + 2);
  for (std::size_t row = 1; row <= 12; ++row) EXPECT_EQ(width(text[row]), width(text[1])) << text[row];
  EXPECT_EQ(width(text[13]), width(text[1]));
  EXPECT_EQ(std::count(text[12].begin(), text[12].end(), 'o'), 1);  // at the lower right
  EXPECT_EQ(text[12].back(), 'o');
  EXPECT_NE(text[0].find("o held out"), std::string::npos);
}

TEST(TerminalPicture, SaysThatItsScaleIsLogarithmic) {
  const Chart chart{"", "step", "loss", {{"training", {{0, 2}, {10, 0.002}}}}};
  EXPECT_NE(terminal_picture(chart).find("loss, logarithmic"), std::string::npos);
}

TEST(TerminalPicture, AnEmptyChartIsAPictureToo) {
  EXPECT_EQ(lines(terminal_picture({"", "step", "loss", {{"training", {}}}}, 10, 4)).size(), 7u);
}

}  // namespace
}  // namespace riesz
