// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "../io/well_formed.h"
#include "riesz/pipeline/schedule/chrome_trace.h"
#include "riesz/pipeline/schedule/makers.h"

namespace riesz::testing {
namespace {

TEST(Picture, HasABoxForEachActionAsWideAsItsTime) {
  const Timeline timeline = simulate(schedules::one_f_one_b({.stages = 2, .micro_batches = 3}));
  const std::string text = svg(timeline, "a < b");

  EXPECT_TRUE(well_formed(text)) << text;
  EXPECT_THAT(text, ::testing::HasSubstr(">a &lt; b</text>"));
  const auto boxes =
      matches(text, std::regex("<rect x=\"([0-9.]+)\"[^>]* width=\"([0-9.]+)\"[^>]*><title>(\\d[^<]*)<"));
  ASSERT_EQ(boxes.size(), 12u);  // and two more explain the colours
  EXPECT_EQ(boxes[2].str(3), "0B0, backward: 4 to 6");
  EXPECT_EQ(boxes[6].str(3), "1F0, forward: 1 to 2");
  const double unit = std::stod(boxes[0].str(2));
  EXPECT_NEAR(std::stod(boxes[2].str(2)), 2 * unit, 0.11);
  EXPECT_NEAR(std::stod(boxes[2].str(1)) - std::stod(boxes[0].str(1)), 4 * unit, 0.5);
}

TEST(ChromeTrace, HasAnEventForEachAction) {
  EXPECT_EQ(chrome_trace(
                simulate(schedules::gpipe({.stages = 1, .micro_batches = 1}), {.chunks = {{0.5, 1, 0.25}}})),
            R"({"traceEvents": [
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "worker 0"}},
{"ph": "X", "name": "0F0", "cat": "forward", "ts": 0.000, "dur": 500000.000, "pid": 0, "tid": 0},
{"ph": "X", "name": "0B0", "cat": "backward", "ts": 500000.000, "dur": 1250000.000, "pid": 0, "tid": 0}
]}
)");
}

TEST(Picture, OfNothingIsAPictureToo) { EXPECT_TRUE(well_formed(svg(Timeline{}, ""))); }

}  // namespace
}  // namespace riesz::testing
