// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How often the background looks at what is under way.
#include "riesz/comm/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Ends when it is let end, and counts how often it was looked at.
class Looked final : public Activity {
 public:
  explicit Looked(bool moves) : moves_(moves) {}

  std::atomic<int> looks = 0;
  std::atomic<bool> may_end = false;
  std::atomic<bool> has_ended = false;

 private:
  bool go_on() override {
    ++looks;
    if (moves_) note_movement();
    has_ended = may_end.load();
    return has_ended;
  }
  const std::string& operation() const override { return text_; }
  std::vector<int> waits_for() const override { return {}; }

  bool moves_;
  std::string text_ = "a test";
};

bool comes(const std::function<bool()>& condition) {
  const auto begin = Clock::now();
  while (!condition() && Clock::now() - begin < std::chrono::seconds(20)) std::this_thread::yield();
  return condition();
}

TEST(Background, LooksRarelyAtWhatDoesNotMove) {
  const auto still = std::make_shared<Looked>(false);
  const auto begin = Clock::now();
  advance_in_background(still);
  std::this_thread::sleep_for(milliseconds(50));
  const int looks = still->looks;
  const auto pauses = (Clock::now() - begin) / std::chrono::microseconds(320);
  EXPECT_GE(looks, 2);
  EXPECT_LE(looks, 6 + pauses);
  still->may_end = true;
  EXPECT_TRUE(comes([&] { return still->has_ended.load(); }));
}

TEST(Background, LooksAgainAtOnceAtWhatMoves) {
  const auto moves = std::make_shared<Looked>(true);
  advance_in_background(moves);
  EXPECT_TRUE(comes([&] { return moves->looks > 100'000; }));  // the longest pauses between them: 32 s
  moves->may_end = true;
  EXPECT_TRUE(comes([&] { return moves->has_ended.load(); }));
}

/// Also after so long a time that it sleeps; and while it does not yet.
TEST(Background, TakesWhatBeginsAtAnyTime) {
  for (const int idle : {0, 1, 3, 40}) {
    std::this_thread::sleep_for(milliseconds(idle));
    const auto activity = std::make_shared<Looked>(false);
    activity->may_end = true;
    advance_in_background(activity);
    EXPECT_TRUE(comes([&] { return activity->has_ended.load(); })) << "after " << idle << " ms";
  }
}

}  // namespace
}  // namespace riesz
