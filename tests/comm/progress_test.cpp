// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How often the background looks at what is under way, and when it is rung for it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

thread_local bool waits = false;

/// Ends when it is let end, and counts how often it was looked at, by threads that wait and by others.
class Looked final : public BackgroundTask {
 public:
  explicit Looked(bool moves) : moves_(moves) {}

  std::atomic<int> looks = 0;
  std::atomic<int> looks_of_waits = 0;
  std::atomic<bool> may_end = false;
  std::atomic<bool> has_ended = false;

 private:
  bool progress() override {
    ++(waits ? looks_of_waits : looks);
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
  run_in_background(still);
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
  run_in_background(moves);
  EXPECT_TRUE(comes([&] { return moves->looks > 100'000; }));  // the longest pauses between them: 32 s
  moves->may_end = true;
  EXPECT_TRUE(comes([&] { return moves->has_ended.load(); }));
}

/// Also after so long a time that it sleeps; and while it does not yet.
TEST(Background, TakesWhatBeginsAtAnyTime) {
  for (const int idle : {0, 1, 3, 40}) {
    std::this_thread::sleep_for(milliseconds(idle));
    const auto task = std::make_shared<Looked>(false);
    task->may_end = true;
    run_in_background(task);
    EXPECT_TRUE(comes([&] { return task->has_ended.load(); })) << "after " << idle << " ms";
  }
}

/// The background sleeps by this doorbell, for longer than a test takes.
class RungHere : public ::testing::Test {
 protected:
  void SetUp() override {
    wake_background_by(doorbell);
    set_longest_sleep(std::chrono::seconds(60));
    run_in_background(task);
    EXPECT_TRUE(comes([&] { return task->looks > 0; }));
    std::this_thread::sleep_for(milliseconds(5));  // by then it has looked once more, and sleeps
  }
  void TearDown() override {
    task->may_end = true;
    EXPECT_TRUE(rings_until([&] { return task->has_ended.load(); }));
    set_longest_sleep(kLongestSleep);
    wake_background_by(Communicator::world().doorbell());
  }

  bool rings_until(const std::function<bool()>& condition) const {
    return comes([&] {
      doorbell->ring();
      std::this_thread::sleep_for(milliseconds(1));
      return condition();
    });
  }

  std::shared_ptr<Doorbell> doorbell = std::make_shared<Doorbell>();
  std::shared_ptr<Looked> task = std::make_shared<Looked>(false);
};

TEST_F(RungHere, IsNotWokenForWhatAThreadWaitsFor) {
  std::thread waiting([&] {
    waits = true;
    task->wait();
  });
  EXPECT_TRUE(comes([&] { return task->looks_of_waits > 3; }));
  const int looks = task->looks;
  int rings = 0;
  EXPECT_TRUE(rings_until([&] { return ++rings >= 20; }));
  EXPECT_LE(task->looks, looks + 1);

  const auto other = std::make_shared<Looked>(false);
  run_in_background(other);
  EXPECT_TRUE(rings_until([&] { return other->looks > 3; }));
  other->may_end = task->may_end = true;
  EXPECT_TRUE(rings_until([&] { return other->has_ended.load(); }));
  waiting.join();
}

TEST_F(RungHere, IsWokenWhileAThreadWaitsForSomethingElse) {
  std::atomic<bool> progress = false;
  std::atomic<bool> begun = false;
  std::thread waiting([&] {
    const auto done = [&] {
      begun = true;
      return progress.load();
    };
    wait_until("a test", done, [] { return std::vector<int>{}; });
  });
  EXPECT_TRUE(comes([&] { return begun.load(); }));
  std::this_thread::sleep_for(milliseconds(5));
  const int looks = task->looks;
  EXPECT_TRUE(rings_until([&] { return task->looks > looks + 3; }));
  progress = true;
  waiting.join();
}

}  // namespace
}  // namespace riesz
