// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace riesz::detail {
namespace {

/// Squares, which count how many were made.
class Squares {
 public:
  explicit Squares(std::size_t most) : plans_(most) {}
  std::shared_ptr<const std::pair<int, int>> of(int n) {
    return plans_.get([&](const std::pair<int, int>& known) { return known.first == n; },
                      [&] { return ++made, std::pair(n, n * n); });
  }
  std::atomic<int> made = 0;

 private:
  PlanCache<std::pair<int, int>> plans_;
};

TEST(PlanCache, MakesAPlanOnceAndDropsTheOldest) {
  Squares squares(3);
  const auto first = squares.of(1);
  for (const int n : {1, 2, 3, 1, 2, 3}) EXPECT_EQ(squares.of(n)->second, n * n);
  EXPECT_EQ(squares.made, 3);
  EXPECT_EQ(squares.of(1), first);
  squares.of(4);
  EXPECT_EQ(squares.of(2)->second, 4);
  EXPECT_EQ(squares.made, 4) << "2 is kept";
  EXPECT_NE(squares.of(1), first) << "1 was the oldest";
  EXPECT_EQ(first->second, 1) << "and lives while it is used";
  EXPECT_EQ(squares.made, 5);
}

TEST(PlanCache, KeepsNothingWhereMakingThrowsAndMayBeUsedByWhatIsMade) {
  PlanCache<int> plans;
  const auto is = [](int wanted) { return [wanted](int made) { return made == wanted; }; };
  EXPECT_THROW(plans.get(is(1), []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(plans.find(is(1)), nullptr);
  EXPECT_EQ(*plans.get(is(2), [&] { return 2 * *plans.get(is(1), [] { return 1; }); }), 2);
  EXPECT_EQ(*plans.find(is(1)), 1);
}

TEST(PlanCache, GivesThreadsThePlanThatWasKeptFirst) {
  constexpr int kThreads = 4, kPlans = 5, kCalls = 2000;
  Squares squares(3);
  PlanCache<int> kept;
  std::vector<std::shared_ptr<const int>> got(kThreads);
  std::atomic<int> there = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      got[static_cast<std::size_t>(thread)] = kept.get([](int) { return true; },
                                                       [&] {
                                                         ++there;  // all make one before one is kept
                                                         while (there < kThreads) std::this_thread::yield();
                                                         return thread;
                                                       });
      for (int call = 0; call < kCalls; ++call) {
        const int n = call * (thread + 1) % kPlans;
        wrong += squares.of(n)->second != n * n;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : got) EXPECT_EQ(each, got.front());
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace riesz::detail
