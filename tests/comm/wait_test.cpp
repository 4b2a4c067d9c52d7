// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/wait.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "riesz/comm/progress/poke.h"
#include "yields.h"

namespace riesz {
namespace {

std::vector<int> nobody() { return {}; }

/// What comes within two microseconds is waited for without a yield; of many waits, one is not disturbed.
TEST(Wait, PollsAtOnceWhatComesSoon) {
  int fewest = 1000;
  for (int i = 0; i < 1000; ++i) {
    const int before = yields_here();
    int polls = 0;
    wait_here("what comes soon", [&] { return ++polls == 4; }, nobody);
    fewest = std::min(fewest, yields_here() - before);
  }
  EXPECT_EQ(fewest, 0);
}

std::atomic<int> poked = 0;

/// MPI must be called for what it has still to send, also where nothing of MPI is waited for.
TEST(Wait, LetsMpiMakeProgress) {
  const Poke each([] { ++poked; });
  const auto begin = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(20); };
  wait_here("what needs MPI", [&] { return poked > 2 || late(); }, nobody);
  EXPECT_GT(poked, 2);
}

TEST(Wait, YieldsForWhatComesLate) {
  const int before = yields_here();
  const auto begin = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(20); };
  wait_here("what comes late", [&] { return yields_here() > before || late(); }, nobody);
  EXPECT_GT(yields_here(), before);
}

/// A job that was suspended goes on. Whoever stops a worker stops it here: it neither asks nor looks.
TEST(Deadline, DoesNotCountTheTimeOfAWorkerThatWasStopped) {
  using namespace std::chrono_literals;
  const auto before = deadline();
  set_deadline(1900ms);
  int calls = 0;
  const auto done = [&] {
    if (++calls == 100) std::this_thread::sleep_for(2500ms);
    return calls == 200;  // it has looked since
  };
  wait_until("what comes after a stop", done, nobody);
  set_deadline(before);
  EXPECT_EQ(calls, 200);
}

}  // namespace
}  // namespace riesz
