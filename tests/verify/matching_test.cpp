// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/matching.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/testing/recorded.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

at::Tensor some(std::int64_t elements) { return at::zeros({elements}); }

/// Every worker sends to the next and expects from the one before, on behalf of `move`.
void around(const char* move, int rank, int workers, std::int64_t elements) {
  const LayerScope layer("block.1");
  Communicator::world().exchange(move, {{(rank + 1) % workers, some(elements)}},
                                 {{(rank + workers - 1) % workers, some(elements)}});
}

std::string faults_of(int workers, const Program& program) {
  std::string text;
  for (const Fault& fault : match(recorded(workers, program), each_its_own()).faults)
    text += to_string(fault) + "\n";
  return text;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Recording, IsWhatAWorkerSendsExpectsAndWaitsFor) {
  const std::vector<Recording> all = recorded(3, [](int rank) { around("ring", rank, 3, 4); });

  const Recording& one = all[1];
  EXPECT_EQ(one.rank, 1);
  EXPECT_EQ(one.workers, 3);
  ASSERT_EQ(one.messages.size(), 2U);
  EXPECT_TRUE(one.messages[0].sent);
  EXPECT_EQ(one.messages[0].peer, 2);
  EXPECT_EQ(one.messages[0].bytes(), 16);
  EXPECT_EQ(one.messages[0].label->text(), "ring");
  EXPECT_EQ(one.messages[1].peer, 0);
  ASSERT_EQ(one.events.size(), 2U);
  EXPECT_EQ(one.events[0].kind, RecordedEvent::Kind::post);
  EXPECT_EQ(one.events[0].origin->layer, "block.1");
  EXPECT_EQ(one.events[1].kind, RecordedEvent::Kind::wait);
}

TEST(Recording, OfACorrectProgramMatchesAndComesToItsEnd) {
  const std::vector<Recording> all = recorded(4, [](int rank) {
    around("first", rank, 4, 4);
    TeamBuffer buffer({0, 1, 2, 3}, 8, at::kFloat);
    const auto move = buffer.all_reduce("AllReduce of a team", {0, 2, 4, 6, 8});
    around("second", rank, 4, 0 == rank ? 5 : 5);
    move->wait();
  });

  const Matching matching = match(all, each_its_own());

  EXPECT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());
  EXPECT_EQ(matching.messages, 4 * (1 + 3 + 3 + 3 + 1)) << "with the buffer's introduction and its two legs";
  const Waiting waiting = follow(all, each_its_own(), matching, 0);
  EXPECT_TRUE(waiting.ends) << to_string(waiting.circle);
  EXPECT_EQ(enough_kept(all, each_its_own(), matching), 0);
}

TEST(Matching, NamesARankThatLeavesOutAMove) {
  const std::string faults = faults_of(3, [](int rank) {
    around("first", rank, 3, 4);
    if (rank != 1) around("second", rank, 3, 4);
    around("third", rank, 3, 4);
  });

  EXPECT_HAS(faults, "rank 1 leaves out a message that rank 2 expects");
  EXPECT_HAS(faults, "rank 1  sends    4 elements of Float in third in layer block.1, forward (message 2 of");
  EXPECT_HAS(faults, "rank 2  expects  4 elements of Float in second in layer block.1, forward (message 2 of");
  EXPECT_HAS(faults, "rank 1 leaves out a message that rank 0 sends");
}

TEST(Matching, NamesARankThatSwapsTwoMoves) {
  const std::string faults = faults_of(2, [](int rank) {
    around(rank == 0 ? "second" : "first", rank, 2, 4);
    around(rank == 0 ? "first" : "second", rank, 2, 4);
  });

  EXPECT_HAS(faults, "rank 0 and rank 1 have two moves in another order");
}

TEST(Matching, NamesARankThatSendsAnotherSizeOrType) {
  const std::string sizes = faults_of(3, [](int rank) { around("ring", rank, 3, rank == 2 ? 7 : 4); });
  EXPECT_HAS(sizes, "rank 2 sends a message of another size than rank 0 expects");
  EXPECT_HAS(sizes, "rank 2  sends    7 elements of Float in ring");
  EXPECT_HAS(sizes, "rank 0  expects  4 elements of Float in ring");

  const std::string types = faults_of(2, [](int rank) {
    const auto type = rank == 0 ? at::kFloat : at::kDouble;
    Communicator::world().exchange("swap", {{1 - rank, at::zeros({2}, type)}},
                                   {{1 - rank, at::zeros({2}, type)}});
  });
  EXPECT_HAS(types, "rank 0 sends a message of another type than rank 1 expects");
}

TEST(Matching, NamesARankThatIsAtItsEnd) {
  const std::string faults = faults_of(2, [](int rank) {
    if (rank == 0) Communicator::world().exchange("last words", {{1, some(3)}}, {});
  });

  EXPECT_HAS(faults, "rank 1 leaves out a message that rank 0 sends");
  EXPECT_HAS(faults, "rank 1  expects  nothing more");
}

/// Expects from one neighbour, waits, and only then sends to the other.
void wait_first(int rank, int workers, bool waits) {
  Communicator& world = Communicator::world();
  const int next = (rank + 1) % workers, before = (rank + workers - 1) % workers;
  if (waits) world.exchange("what comes round", {}, {{before, some(2)}});
  world.exchange("what comes round", {{next, some(2)}}, {});
  if (!waits) world.exchange("what comes round", {}, {{before, some(2)}});
}

TEST(Waiting, DrawsACircle) {
  const std::vector<Recording> all = recorded(3, [](int rank) { wait_first(rank, 3, true); });
  const Matching matching = match(all, each_its_own());
  ASSERT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());

  const Waiting waiting = follow(all, each_its_own(), matching, 0);

  EXPECT_FALSE(waiting.ends);
  EXPECT_EQ(to_string(waiting.circle),
            "workers wait for each other in a circle\n"
            "  rank 0  waits in what comes round  for rank 2, which is to begin what comes round\n"
            "  rank 2  waits in what comes round  for rank 1, which is to begin what comes round\n"
            "  rank 1  waits in what comes round  for rank 0, which is to begin what comes round");
  EXPECT_EQ(enough_kept(all, each_its_own(), matching), -1);
}

TEST(Waiting, HoldsForTransportsThatKeepNothing) {
  const std::vector<Recording> all = recorded(3, [](int rank) { wait_first(rank, 3, rank > 0); });
  const Matching matching = match(all, each_its_own());
  EXPECT_TRUE(follow(all, each_its_own(), matching, 0).ends) << "rank 0 sends, so the others go on";

  const std::vector<Recording> both = recorded(2, [](int rank) { wait_first(rank, 2, false); });
  const Waiting waiting = follow(both, each_its_own(), match(both, each_its_own()), 0);
  EXPECT_FALSE(waiting.ends) << "both send first, and wait until it is taken";
}

TEST(Waiting, SaysHowMuchIsKeptOfWhatNobodyWaitsFor) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    Communicator& world = Communicator::world();
    for (int i = 0; i < 3; ++i) world.reserve({1 - rank}, {}).send("ahead", {{1 - rank, some(10)}});
    for (int i = 0; i < 3; ++i) world.exchange("ahead", {}, {{1 - rank, some(10)}});
  });
  const Matching matching = match(all, each_its_own());
  ASSERT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());

  EXPECT_FALSE(follow(all, each_its_own(), matching, 0).ends);
  EXPECT_FALSE(follow(all, each_its_own(), matching, 119).ends);
  EXPECT_TRUE(follow(all, each_its_own(), matching, 120).ends);
  EXPECT_EQ(enough_kept(all, each_its_own(), matching), 160);
  const auto fault = [&](std::int64_t untaken) {
    return to_string(fault_of_waits(all, each_its_own(), matching, untaken));
  };
  EXPECT_HAS(fault(119),
             "in a circle, since none sends more once more than 119 bytes are sent and not taken");
  EXPECT_HAS(
      fault(119),
      "set RIESZ_UNTAKEN to 160 on all, 0 for no limit\n  rank 0  waits in ahead, held back  for rank 1");
  EXPECT_EQ(fault(120), "");
  EXPECT_EQ(fault(0), "");
}

TEST(Waiting, LetsTheBackgroundGoOn) {
  const auto program = [](bool waits) {
    return [waits](int rank) {
      TeamBuffer buffer({0, 1}, 4, at::kFloat);
      const auto move = buffer.all_reduce("AllReduce of a team", {0, 2, 4});
      if (rank == 0 || waits) move->wait();
      around("meeting", rank, 2, 3);
      if (rank == 1 && !waits) move->wait();
    };
  };
  for (const bool waits : {true, false}) {
    const std::vector<Recording> all = recorded(2, program(waits));
    const Matching matching = match(all, each_its_own());
    ASSERT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());
    EXPECT_TRUE(follow(all, each_its_own(), matching, 0).ends) << "rank 1 need not wait for what it began";
  }
}

}  // namespace
}  // namespace riesz::testing
