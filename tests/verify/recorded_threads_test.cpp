// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program's threads are followed each by itself.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/thread.h"
#include "riesz/testing/recorded.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

/// On rank 0 two threads, the second of which is recorded after the first has ended.
void in_two_threads(const std::function<void()>& first, const std::function<void()>& second) {
  std::atomic<bool> over = false;
  Thread one([&] {
    first();
    over = true;
    over.notify_all();
  });
  Thread other([&] {
    over.wait(false);
    second();
  });
}

void send(int channel, int peer) {
  const ChannelScope in(channel);
  Communicator::world().reserve({peer}, {}).send("ahead", {{peer, at::zeros({10})}});
}

void exchange(int channel, int from, int to, int rank) {
  const ChannelScope in(channel);
  if (rank == from) Communicator::world().exchange("a message", {{to, at::zeros({2})}}, {});
  if (rank == to) Communicator::world().exchange("a message", {}, {{from, at::zeros({2})}});
}

void expect_ahead(int channel) {
  const ChannelScope in(channel);
  Communicator::world().exchange("ahead", {}, {{0, at::zeros({10})}});
}

TEST(RecordedThreads, HinderEachOtherNot) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    if (rank == 0) in_two_threads([] { exchange(1, 1, 0, 0); }, [] { exchange(2, 0, 1, 0); });
    if (rank == 1) exchange(2, 0, 1, 1);
    if (rank == 1) exchange(1, 1, 0, 1);
  });
  const Waiting waiting = follow(all, each_its_own(), match(all, each_its_own()), 0);

  EXPECT_EQ(all[0].threads.size(), 3U) << "the program and two threads of it";
  EXPECT_TRUE(waiting.ends) << to_string(waiting.circle);
}

TEST(RecordedThreads, HinderWhoJoinsThem) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    if (rank == 0) Thread([] { exchange(1, 1, 0, 0); }).join();
    exchange(2, 0, 1, rank);
    if (rank == 1) exchange(1, 1, 0, 1);
  });

  EXPECT_FALSE(follow(all, each_its_own(), match(all, each_its_own()), 0).ends);
}

/// The second may send first, so that the first is held back, before rank 1 takes anything.
TEST(RecordedThreads, AreHeldBackByWhatOthersMayHaveSentBefore) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    if (rank == 0) {
      in_two_threads(
          [] {
            send(1, 1);
            exchange(3, 0, 1, 0);
          },
          [] { send(2, 1); });
    } else {
      exchange(3, 0, 1, 1);
      expect_ahead(1);
      expect_ahead(2);
    }
  });
  const Matching matching = match(all, each_its_own());
  ASSERT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());

  EXPECT_FALSE(follow(all, each_its_own(), matching, 79).ends);
  EXPECT_TRUE(follow(all, each_its_own(), matching, 80).ends);
}

/// What was sent before the thread began, or after it was joined, is not sent meanwhile.
TEST(RecordedThreads, AreNotHeldBackByWhatIsSentAfterThem) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    if (rank == 0) {
      Thread([] { send(1, 1); }).join();
      exchange(3, 0, 1, 0);
      exchange(4, 1, 0, 0);
      send(2, 1);
    } else {
      exchange(3, 0, 1, 1);
      expect_ahead(1);
      exchange(4, 1, 0, 1);
      expect_ahead(2);
    }
  });

  EXPECT_TRUE(follow(all, each_its_own(), match(all, each_its_own()), 40).ends);
}

/// As routines of a pipeline do.
TEST(RecordedThreads, ThatTakeTurnsAreOfTheStrandTheyWereMadeIn) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    Thread([rank] {
      const ThreadStart start;
      start_thread([&] { start.run([&] { exchange(0, 0, 1, rank); }); }).join();
    }).join();
  });

  EXPECT_EQ(all[0].strands, 2U);
  ASSERT_EQ(all[0].events.size(), 4U) << "it begins, sends, waits, and is joined";
  EXPECT_EQ(all[0].events[1].strand, 1U);
}

}  // namespace
}  // namespace riesz::testing
