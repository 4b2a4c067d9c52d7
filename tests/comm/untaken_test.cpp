// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is sent to late receivers is bounded; and who is taken to wait in vain.
#include "riesz/comm/untaken.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/background_send.h"
#include "riesz/comm/progress/standstill.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/thread.h"
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
    EXPECT_EQ(Counters::instance().untaken().bytes, 0);
    set_most_untaken(before);
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
  const std::int64_t before = most_untaken();
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
  set_most_untaken(3 * kBytes);
  for (int i = 0; i < 20 && Runtime::rank() == 0; ++i) send(i);
  EXPECT_LE(Counters::instance().untaken().most_bytes, 4 * kBytes);
  if (Runtime::rank() != last()) return;
  EXPECT_TRUE(says_held_back(0));
  for (int i = 0; i < 20; ++i) expect(i);
}

/// The last takes the second first.
TEST_F(Limited, OneSendMayBeLargerThanTheLimit) {
  if (Runtime::size() == 1) return;
  set_most_untaken(1);
  if (Runtime::rank() == 0) send(1);
  {
    const ChannelScope other(1);
    if (Runtime::rank() == 0) send(2, 1);
    if (Runtime::rank() == last()) expect(2, 1);
  }
  if (Runtime::rank() == last()) expect(1);
}

TEST_F(Limited, ALimitBelowZeroIsRefused) {
  EXPECT_ERROR(set_most_untaken(-1), "set_most_untaken: -1 bytes; it must be zero or more");
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
  status.threads = 2;  // so may one that computes
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
  status = waits(0, {1});
  status.threads = 2;  // or one here may send what is waited for
  EXPECT_FALSE(all_wait_for(0, {1}, {status, waits(1, {0})}));
  status = waits(1, {0});
  status.process = "stopped";
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
  status = waits(1, {0, 0, 0, 0, 0, 0, 0, 0});  // and others, perhaps
  EXPECT_FALSE(all_wait_for(0, {1}, {status}));
}

TEST(HeldBack, AStandstillLastsWhileNothingMoves) {
  using std::chrono::milliseconds;
  const Standstill::Instant begin = std::chrono::steady_clock::now();
  Standstill standstill;
  EXPECT_FALSE(standstill.lasts(false, 7, 1, begin));
  EXPECT_FALSE(standstill.lasts(true, 7, 1, begin + milliseconds(4900)));
  EXPECT_TRUE(standstill.lasts(true, 7, 1, begin + milliseconds(5100)));
  EXPECT_FALSE(standstill.lasts(true, 7, std::int64_t{1} << 30, begin + milliseconds(9900)));
  EXPECT_TRUE(standstill.lasts(true, 7, std::int64_t{1} << 30, begin + milliseconds(10'100)));
  EXPECT_FALSE(standstill.lasts(true, 8, 1, begin + milliseconds(20'000)));
  EXPECT_FALSE(standstill.lasts(true, 8, 1, begin + milliseconds(24'900)));
  EXPECT_TRUE(standstill.lasts(true, 8, 1, begin + milliseconds(25'100)));
  EXPECT_FALSE(standstill.lasts(false, 8, 1, begin + milliseconds(25'200)));
}

int threads_here() {
  for (const WorkerStatus& each : StatusBoard::read()) {
    if (each.rank == Runtime::rank()) return each.threads;
  }
  return 0;
}

TEST(HeldBack, ThreadsAreOnTheBoard) {
  const int before = threads_here();
  int meanwhile = 0;
  Thread([&] { meanwhile = threads_here(); }).join();
  EXPECT_EQ(before, 1);
  EXPECT_EQ(meanwhile, 2);
  EXPECT_EQ(threads_here(), 1);
}

/// To the last: it takes 6 s, a piece of it at a time.
class SlowSend final : public Requests {
 public:
  bool done() override {
    const auto now = std::chrono::steady_clock::now();
    if (now - moved_at_ > std::chrono::milliseconds(500)) {
      note_movement();
      moved_at_ = now;
    }
    return now - begin_ > std::chrono::seconds(6);
  }
  std::vector<int> unfinished() const override { return {Runtime::size() - 1}; }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point moved_at_ = begin_;
};

/// Each end waits for the other meanwhile.
TEST_F(Limited, ALongMessageIsNotTakenForStuck) {
  if (Runtime::size() != 2) return;
  set_most_untaken(1);
  if (Runtime::rank() == 0) {
    send_in_background("a long send", 10, std::make_unique<SlowSend>());
    EXPECT_NO_THROW(send_in_background("another", 10, std::make_unique<SlowSend>()));
    send(3, 1);
  }
  if (Runtime::rank() == last()) expect(3, 1);
}

}  // namespace
}  // namespace riesz
