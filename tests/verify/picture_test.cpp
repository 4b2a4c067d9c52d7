// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Broken programs, drawn: each picture names the workers of the fault, and what they do before and after.
#include "riesz/verify/picture.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "../io/well_formed.h"
#include "riesz/comm/communicator.h"
#include "riesz/testing/recorded.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Texts = std::vector<std::string>;

constexpr const char* kFault = "#d1495b";
constexpr const char* kMessage = "#9db7da";

/// What the fault of a program is, or that of its waits, as a picture.
std::string picture_of(int workers, const Program& program) {
  const std::vector<Recording> all = recorded(workers, program);
  const StandIns stand_ins = each_its_own();
  const Matching matching = match(all, stand_ins);
  const Fault fault =
      matching.faults.empty() ? follow(all, stand_ins, matching, 0).circle : matching.faults.front();
  const std::string text = svg(fault, all, stand_ins, matching);
  EXPECT_TRUE(well_formed(text)) << text;
  return text;
}

Texts found(const std::string& text, const std::string& pattern) {
  Texts all;
  for (const std::smatch& each : matches(text, std::regex(pattern))) all.push_back(each.str(1));
  return all;
}

/// The workers that are drawn, from left to right.
Texts workers_of(const std::string& picture) { return found(picture, "font-weight=\"bold\">([^<]*)<"); }

/// What the boxes of a colour say under the mouse.
Texts boxes_of(const std::string& picture, const std::string& colour) {
  return found(picture, "height=\"42.0\" fill=\"" + colour + "\"[^>]*><title>([^<]*)<");
}

/// Ends of the arrows of a colour: their points.
std::size_t arrows_of(const std::string& picture, const std::string& colour) {
  return found(picture, "<polyline fill=\"none\" stroke=\"(" + colour + ")\"").size() / 2;
}

void around(const char* move, int rank, int workers, std::int64_t elements = 4) {
  const LayerScope layer("block.1");
  Communicator::world().exchange(move, {{(rank + 1) % workers, at::zeros({elements})}},
                                 {{(rank + workers - 1) % workers, at::zeros({elements})}});
}

TEST(FaultPicture, OfARankThatLeavesOutAMove) {
  const std::string picture = picture_of(3, [](int rank) {
    around("first", rank, 3);
    if (rank != 1) around("second", rank, 3);
    around("third", rank, 3);
  });

  EXPECT_THAT(picture, HasSubstr(">rank 1 leaves out a message that rank 0 sends</text>"));
  EXPECT_THAT(workers_of(picture), ElementsAre("rank 0", "rank 1"));
  EXPECT_THAT(boxes_of(picture, kFault), ElementsAre("begins second in layer block.1, forward",
                                                     "begins third in layer block.1, forward"));
  EXPECT_EQ(arrows_of(picture, kFault), 1U);
  EXPECT_EQ(arrows_of(picture, kMessage), 1U) << "of the first move";
}

TEST(FaultPicture, OfARankThatSwapsTwoMoves) {
  const std::string picture = picture_of(2, [](int rank) {
    around(rank == 0 ? "one" : "other", rank, 2);
    around(rank == 0 ? "other" : "one", rank, 2);
  });

  EXPECT_THAT(picture, HasSubstr(">rank 0 and rank 1 have two moves in another order</text>"));
  EXPECT_THAT(workers_of(picture), ElementsAre("rank 0", "rank 1"));
  EXPECT_THAT(boxes_of(picture, kFault),
              ElementsAre("begins one in layer block.1, forward", "begins other in layer block.1, forward"));
  EXPECT_EQ(arrows_of(picture, kMessage), 0U) << "no message has its other end";
}

TEST(FaultPicture, OfARankThatSendsAnotherSize) {
  const std::string picture = picture_of(3, [](int rank) { around("ring", rank, 3, rank == 2 ? 7 : 4); });

  EXPECT_THAT(workers_of(picture), ElementsAre("rank 1", "rank 2"));
  EXPECT_THAT(picture, AllOf(HasSubstr(">sends 4 elements of Float in ring in layer</text>"),
                             HasSubstr(">expects 7 elements of Float in ring in</text>")));
}

TEST(FaultPicture, OfARankThatIsAtItsEnd) {
  const std::string picture = picture_of(2, [](int rank) {
    if (rank == 0) Communicator::world().exchange("last words", {{1, at::zeros({3})}}, {});
  });

  EXPECT_THAT(workers_of(picture), ElementsAre("rank 0", "rank 1"));
  EXPECT_THAT(boxes_of(picture, kFault), ElementsAre("begins last words", "is at its end"));
  EXPECT_THAT(picture, HasSubstr(">expects nothing more</text>"));
}

/// Each expects from one neighbour, waits, and only then sends to the other; after `moves` in which all is
/// well.
Program circle(int workers, int moves) {
  return [=](int rank) {
    Communicator& world = Communicator::world();
    for (int i = 0; i < moves; ++i) around("well", rank, workers);
    world.exchange("what comes round", {}, {{(rank + workers - 1) % workers, at::zeros({2})}});
    world.exchange("what comes round", {{(rank + 1) % workers, at::zeros({2})}}, {});
  };
}

TEST(FaultPicture, OfACircleHasTheWaitOfEachWorker) {
  const std::string picture = picture_of(3, circle(3, 4));

  EXPECT_THAT(picture, HasSubstr(">workers wait for each other in a circle</text>"));
  EXPECT_THAT(workers_of(picture), ElementsAre("rank 0", "rank 2", "rank 1"));
  EXPECT_THAT(boxes_of(picture, kFault), ElementsAre("waits in what comes round", "waits in what comes round",
                                                     "waits in what comes round"));
  EXPECT_EQ(arrows_of(picture, kFault), 3U);
  EXPECT_THAT(found(picture, "fill-opacity=\"0.3\"[^>]*><title>([^<]*)<"),
              Contains("begins what comes round").Times(3))
      << "what none comes to is pale";
  EXPECT_THAT(found(picture, ">(…)<"), ::testing::SizeIs(3)) << "what was long before is left out";
}

TEST(FaultPicture, OfALongCircleSaysHowManyAreNotDrawn) {
  const std::string picture = picture_of(11, circle(11, 0));

  EXPECT_EQ(workers_of(picture).size(), 8U);
  EXPECT_THAT(picture, HasSubstr(" 3 more workers are not drawn."));
}

TEST(FaultPicture, NamesAWorkerForWhichAnotherIsRun) {
  const std::vector<Recording> all = recorded(2, [](int rank) {
    around("well", rank, 2);
    around("ring", rank, 2, rank == 0 ? 4 : 5);
  });
  // Ranks 0 and 1 stand for all even and odd ones of a job of 4, which talk in pairs.
  const StandIns pairs{[](int rank) { return static_cast<std::size_t>(rank % 2); },
                       [](int rank, int other) {
                         return rank / 2 * 2 == other / 2 * 2 ? other % 2 : other % 2 + rank / 2 * 2;
                       }};
  const Matching matching = match(all, pairs);
  ASSERT_FALSE(matching.faults.empty());
  Fault fault = matching.faults.front();
  for (WorkerInFault& worker : fault.workers) {
    worker.at.rank += 2;
    worker.other.rank += 2;
  }

  const std::string picture = svg(fault, all, pairs, matching);

  EXPECT_THAT(workers_of(picture), ElementsAre("rank 2", "rank 3"));
  EXPECT_EQ(arrows_of(picture, kFault), 1U);
  EXPECT_EQ(arrows_of(picture, kMessage), 2U) << "each to the other, before";
}

TEST(FaultPicture, EscapesWhatALabelHas) {
  const std::string picture = picture_of(2, [](int rank) {
    if (rank == 0) Communicator::world().exchange("a < b & \"c\"\x01", {{1, at::zeros({3})}}, {});
  });

  EXPECT_THAT(picture, HasSubstr("begins a &lt; b &amp; &quot;c&quot;\\x01<"));
}

TEST(FaultPicture, OfNothingIsAPictureToo) {
  EXPECT_TRUE(well_formed(svg(Fault{}, {}, each_its_own(), Matching{})));
}

}  // namespace
}  // namespace riesz::testing
