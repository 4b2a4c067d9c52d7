// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is sent to late receivers is bounded; and who is taken to wait in vain.
#include "riesz/comm/unsent.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/held_back.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

constexpr std::int64_t kCount = 12'500, kBytes = 8 * kCount;

/// From rank 0 to the last, with a limit for what is sent and not taken.
class Limited : public ::testing::Test {
 protected:
  void SetUp() override {
    finish_background();
    Counters::instance().reset();
  }
  void TearDown() override {
    finish_background();
    EXPECT_EQ(Counters::instance().unsent().bytes, 0);
    set_most_unsent(before);
  }

  static void send(int number, std::int64_t count = kCount) {
    const Reservation reserved = Communicator::world().reserve({last()}, {});
    reserved.send({"send", "a send"}, {{last(), at::full({count}, 1. * number, at::kDouble)}});
  }
  static void expect(int number, std::int64_t count = kCount) {
    const at::Tensor received = at::empty({count}, at::kDouble);
    Communicator::world().exchange("a send", {}, {{0, received}});
    EXPECT_SAME_BITS(received, at::full({count}, 1. * number, at::kDouble));
  }

  static int last() { return Runtime::size() - 1; }
  const std::int64_t before = most_unsent();
};

bool says_held_back(int rank) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    for (const WorkerStatus& each : StatusBoard::read()) {
      if (each.rank == rank && each.waiting == 1 && each.operation.starts_with("a send, held back since "))
        return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST_F(Limited, ASendBeyondTheLimitIsHeldBackUntilSomeIsTaken) {
  if (Runtime::size() == 1) return;
  set_most_unsent(3 * kBytes);
  for (int i = 0; i < 20 && Runtime::rank() == 0; ++i) send(i);
  EXPECT_LE(Counters::instance().unsent().most_bytes, 4 * kBytes);
  if (Runtime::rank() != last()) return;
  EXPECT_TRUE(says_held_back(0));
  for (int i = 0; i < 20; ++i) expect(i);
}

/// The last takes the second first.
TEST_F(Limited, OneSendMayBeLargerThanTheLimit) {
  if (Runtime::size() == 1) return;
  set_most_unsent(1);
  if (Runtime::rank() == 0) send(1);
  {
    const ChannelScope other(1);
    if (Runtime::rank() == 0) send(2, 1);
    if (Runtime::rank() == last()) expect(2, 1);
  }
  if (Runtime::rank() == last()) expect(1);
}

TEST_F(Limited, ALimitBelowZeroIsRefused) {
  EXPECT_ERROR(set_most_unsent(-1), "set_most_unsent: -1 bytes; it must be zero or more");
}

WorkerStatus waits(int rank, std::vector<int> peers) {
  WorkerStatus status;
  status.rank = rank;
  status.waiting = 1;
  status.waits_for = std::move(peers);
  return status;
}

TEST(HeldBack, InACircleAllWaitForEachOther) {
  EXPECT_TRUE(all_wait_for(0, {1}, {waits(0, {1}), waits(1, {0})}));
  EXPECT_TRUE(all_wait_for(0, {2}, {waits(1, {0}), waits(2, {1})}));
  EXPECT_TRUE(all_wait_for(0, {1, 2}, {waits(2, {0, 1}), waits(1, {0})}));
}

TEST(HeldBack, WhoMayYetGoOnIsNotWaitedForInVain) {
  EXPECT_FALSE(all_wait_for(0, {1}, {waits(0, {1})}));  // of another host
  EXPECT_FALSE(all_wait_for(0, {1}, {waits(1, {0, 2})}));
  EXPECT_FALSE(all_wait_for(0, {1, 2}, {waits(1, {0})}));
  WorkerStatus status = waits(1, {0});
  status.waiting = 0;
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
  status.waiting = 2;  // the other thread may take it
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
  status = waits(1, {0});
  status.process = "stopped";
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
  status = waits(1, {0, 0, 0, 0, 0, 0, 0, 0});  // and others, perhaps
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
}

}  // namespace
}  // namespace riesz
