// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/side_channel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

/// A text for each rank and number; some are empty, some long.
std::string said(int rank, int number) {
  return std::string(static_cast<std::size_t>(number % 3 * (rank + 1) * 5000), static_cast<char>('a' + rank));
}

std::vector<std::string> all_say(int number) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < Runtime::size(); ++rank) texts.push_back(said(rank, number));
  return texts;
}

/// The last rank's thread has met the others before that rank itself does, and the first rank's after.
TEST(SideChannel, MeetsWhateverItsWorkersDo) {
  const Partition world = Partition::world();
  const SideChannel channel(world), other(world);
  const Traffic before = Counters::instance().total();
  bool done = false;
  Thread thread([&] {
    for (int number = 0; number < 7; ++number)
      EXPECT_EQ(channel.collect_texts(said(world.rank(), number)), all_say(number));
    done = true;
  });
  if (world.rank() + 1 == world.size()) thread.join();
  EXPECT_TRUE(world.rank() + 1 < world.size() || done);
  EXPECT_EQ(other.collect_texts(said(world.rank(), 8)), all_say(8));
  thread.join();
  EXPECT_EQ(Counters::instance().total(), before);
}

/// Nobody else's thread has begun; what it sent is there when they do.
TEST(SideChannel, WaitsNoLongerThanItIsTold) {
  const Partition world = Partition::world();
  SideChannel channel(world);
  if (world.rank() == 0 && world.size() > 1) {
    channel.wait_at_most(std::chrono::milliseconds(20));
    EXPECT_ERROR(channel.collect_texts(""), "[rank 0 of ", "SideChannel: rank 1",
                 " has not come, and this worker waits no longer");
    channel.wait_at_most(std::chrono::seconds(0));
  }
  collect_texts(world, "");
  if (world.rank() != 0) {
    EXPECT_EQ(channel.collect_texts("").back(), "");
  }
  collect_texts(world, "");
  EXPECT_EQ(channel.collect_texts(said(world.rank(), 2)), all_say(2));
}

TEST(SideChannel, IsOfItsPartitionAlone) {
  const Partition world = Partition::world();
  const Partition P = world.grid({{"p", world.size()}}).at("p", world.size() - 1);
  if (!P.active()) return;
  EXPECT_EQ(SideChannel(P).collect_texts("alone"), std::vector<std::string>{"alone"});
}

}  // namespace
}  // namespace riesz
