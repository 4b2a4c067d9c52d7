// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What verify accepts runs to its end; what it refuses does not, and it names an action that is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <regex>

#include "little_executor.h"
#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/verify.h"

namespace riesz::testing {
namespace {

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }

  Schedule table() {
    const auto& names = named_schedules();
    for (;;) {
      ScheduleOptions options{.stages = 1 + below(4), .micro_batches = 1 + below(8)};
      const NamedSchedule& schedule = names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
      if (schedule.name == "gpipe") options.recompute = below(2) == 0;
      try {
        return below(6) == 0 ? forward_only(schedule.make(options)) : schedule.make(options);
      } catch (const Error&) {
        // not with so many
      }
    }
  }

  /// A row that is not empty.
  std::vector<Action>& row(Schedule& table) {
    for (;;) {
      std::vector<Action>& row = table.rows[static_cast<std::size_t>(below(table.workers()))];
      if (!row.empty()) return row;
    }
  }
  Action& action(std::vector<Action>& row) {
    return row[static_cast<std::size_t>(below(static_cast<int>(row.size())))];
  }

  void mutate(Schedule& table) {
    std::vector<Action>& row = this->row(table);
    Action& a = action(row);
    switch (below(9)) {
      case 0:
      case 1:
        std::swap(a, action(row));
        return;
      case 2:
        a = {};
        return;
      case 3:
        a = action(row);
        return;
      case 4:
        a.micro_batch += below(3) - 1;
        return;
      case 5:
        a.chunk += below(3) - 1;
        return;
      case 6:
        a.version += below(3) - 1;
        return;
      case 7:
        std::swap(a, action(this->row(table)));
        return;
      default: {  // a little further
        const std::size_t from = static_cast<std::size_t>(&a - row.data());
        if (from + 1 < row.size()) std::swap(row[from], row[from + 1]);
      }
    }
  }

 private:
  std::mt19937 random_;
};

/// Does the message name a cell that is in the table, or one that is missing?
::testing::AssertionResult names_an_action(const std::string& message, const Schedule& table) {
  static const std::regex kPlace("(\\S*) \\(worker (\\d+), slot (\\d+)\\)");
  std::smatch found;
  if (message.find("there is no ") != std::string::npos ||
      message.find("forward passes, but the table has") != std::string::npos)
    return ::testing::AssertionSuccess();
  if (!std::regex_search(message, found, kPlace)) return ::testing::AssertionFailure() << message;
  const Action& named = table.rows.at(std::stoul(found[2])).at(std::stoul(found[3]));
  if (to_string(named) == found[1]) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << message << "\nnames a cell that is " << to_string(named);
}

TEST(Verify, AcceptsWhatRunsToItsEndAndNothingElse) {
  std::map<std::string, int> seen;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    Draws draws(seed);
    Schedule table = draws.table();
    for (int times = draws.below(4); times > 0; --times) draws.mutate(table);
    const int capacity = 1 + draws.below(4);
    const std::string wrong = execute(table, capacity, seed);
    std::string refusal;
    try {
      verify(table, {.capacity = capacity});
    } catch (const Error& error) {
      refusal = error.what();
    }
    EXPECT_EQ(refusal.empty(), wrong.empty())
        << "seed " << seed << ": " << refusal << "\nrunning it: " << wrong;
    if (!refusal.empty()) {
      EXPECT_TRUE(names_an_action(refusal, table)) << "seed " << seed;
    }
    ++seen[wrong];
  }
  for (const char* outcome :
       {"", "stuck", "twice", "too early", "another message", "elsewhere", "no such", "weights"})
    EXPECT_GT(seen[outcome], 5) << "few of the tables are: " << outcome;
}

}  // namespace
}  // namespace riesz::testing
