// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace riesz {
namespace {

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
  wait_until("what comes after a stop", done, [] { return std::vector<int>{}; });
  set_deadline(before);
  EXPECT_EQ(calls, 200);
}

}  // namespace
}  // namespace riesz
