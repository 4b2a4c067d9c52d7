// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace riesz {
namespace {

using ::testing::HasSubstr;

/// A run of which each step takes `pace` seconds and 100 tokens/s, with a measurement after step 3.
std::string shown(Screen screen, std::int64_t steps, double pace, std::int64_t stop = 1 << 20,
                  std::size_t columns = 200) {
  std::ostringstream out;
  double now = 0;
  Progress progress(
      out, screen, steps, "token", [&] { return now; }, [&] { return columns; });
  for (std::int64_t step = 1; step <= std::min(steps, stop); ++step) {
    now += pace;
    Row row{step, 1.0 / static_cast<double>(step), std::nullopt, 0, 0, 1234, now};
    if (step == 3) row.held_out_loss = 0.75;
    progress.update(row);
  }
  progress.finish();
  return out.str();
}

std::ptrdiff_t count(const std::string& text, char letter) {
  return std::count(text.begin(), text.end(), letter);
}

TEST(Progress, TellsStepLossSpeedAndTimeLeft) {
  EXPECT_EQ(shown(Screen::log, 4, 10),
            "step 1/4  loss 1  1,234 tokens/s  30 s left\n"
            "step 2/4  loss 0.5  1,234 tokens/s  20 s left\n"
            "step 3/4  loss 0.3333  held out 0.75  1,234 tokens/s  10 s left\n"
            "step 4/4  loss 0.25  held out 0.75  1,234 tokens/s  took 40 s\n");
}

TEST(Progress, TellsHowExpertsWereChosen) {
  Row row{1, 0.5, std::nullopt, 0, 0, 1234, 10};
  row.experts = ExpertRow{1.5, 0.125, 1.0625};
  std::ostringstream wide, narrow;
  Progress(wide, Screen::log, 1, "token").update(row);
  Progress(narrow, Screen::terminal, 1, "token", Progress::steady_seconds, [] { return 60; }).update(row);
  EXPECT_EQ(
      wide.str(),
      "step 1/1  loss 0.5  expert_load 1.5  dropped 12 %  gate_entropy 1.06  1,234 tokens/s  took 10 s\n");
  EXPECT_THAT(narrow.str(), HasSubstr("\rstep 1/1  loss 0.5  1,234 tokens/s  took 10 s"));
}

/// The rows of an earlier run, on other machines, say nothing of how long the rest takes.
TEST(Progress, TellsTimeLeftByTheStepsThatItHasSeen) {
  std::ostringstream out;
  Progress progress(out, Screen::log, 10, "image");
  progress.update({5, 1, std::nullopt, 0, 0, 1, 1003});
  progress.update({6, 1, std::nullopt, 0, 0, 1, 1005});
  progress.update({8, 1, std::nullopt, 0, 0, 1, 1011});
  EXPECT_THAT(out.str(), HasSubstr("step 6/10  loss 1  1 images/s  8 s left\n"));
  EXPECT_THAT(out.str(), HasSubstr("step 8/10  loss 1  1 images/s  5 s left\n"));
}

TEST(Progress, ALogHasPlainLinesNowAndThen) {
  const std::string fast = shown(Screen::log, 1000, 0.001);
  const std::string slow = shown(Screen::log, 1000, 3);

  EXPECT_EQ(count(fast, '\n'), 1 + 20);  // the first step, then every twentieth part
  EXPECT_EQ(count(slow, '\n'),
            1 + 250 + 10);  // every fourth step, the first after ten seconds, and odd twentieths
  EXPECT_EQ(count(fast + slow, '\r') + count(fast + slow, '\x1b'), 0);
  EXPECT_THAT(fast, HasSubstr("step 1000/1000"));
}

TEST(Progress, ATerminalsLineRewritesItself) {
  const std::string text = shown(Screen::terminal, 1000, 0.01);

  EXPECT_EQ(count(text, '\n'), 1);  // only at the end
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.front(), '\r');
  EXPECT_NEAR(static_cast<double>(count(text, '\r')), 100, 10);  // ten times a second
  EXPECT_THAT(text, HasSubstr("\x1b[K\rstep"));                  // what is left of a longer line is erased
  EXPECT_THAT(text, HasSubstr("step 1000/1000"));
}

/// The longest of the lines that were written over each other.
std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  std::string line;
  std::getline(lines, line, '\r');  // nothing is before the first
  while (std::getline(lines, line, '\r')) most = std::max(most, line.find("\x1b[K"));
  return most;
}

TEST(Progress, ATerminalsLineIsNarrowerThanTheTerminal) {
  for (const std::size_t columns : {1, 5, 20, 30, 45, 60, 80, 120}) {
    EXPECT_LT(widest(shown(Screen::terminal, 100000, 3600, 4, columns)), columns);
  }
  const auto third = [](std::size_t columns) {
    const std::string text = shown(Screen::terminal, 100000, 3600, 3, columns);
    const std::size_t begin = text.rfind('\r') + 1;
    return text.substr(begin, text.rfind("\x1b[K") - begin);
  };
  EXPECT_EQ(third(79), "step 3/100000  loss 0.3333  held out 0.75  1,234 tokens/s  99997 h 00 min left");
  EXPECT_EQ(third(78), "step 3/100000  loss 0.3333  held out 0.75  99997 h 00 min left");
  EXPECT_EQ(third(64), "step 3/100000  loss 0.3333  held out 0.75  99997 h 00 min left");
  EXPECT_EQ(third(60), "step 3/100000  loss 0.3333  99997 h 00 min left");
  EXPECT_EQ(third(40), "step 3/100000  loss 0.3333");
  EXPECT_EQ(third(10), "step 3/10");
}

TEST(Progress, AnUnfinishedLineIsLeftAtTheEnd) {
  EXPECT_EQ(shown(Screen::terminal, 10, 1, 2).back(), '\n');
  EXPECT_EQ(shown(Screen::terminal, 10, 1, 0), "");
}

TEST(ChooseScreen, ObeysTheSettingThenTheVariable) {
  ::setenv("RIESZ_TERMINAL", "1", 1);
  EXPECT_EQ(choose_screen("log"), Screen::log);
  EXPECT_EQ(choose_screen("auto"), Screen::terminal);
  ::setenv("RIESZ_TERMINAL", "0", 1);
  EXPECT_EQ(choose_screen("terminal"), Screen::terminal);
  EXPECT_EQ(choose_screen("auto"), Screen::log);
}

TEST(ChooseScreen, UnderALauncherOneMustBeTold) {
  ::unsetenv("RIESZ_TERMINAL");
  ::setenv("PMI_RANK", "0", 1);
  EXPECT_EQ(choose_screen("auto"), Screen::log);
}

}  // namespace
}  // namespace riesz
