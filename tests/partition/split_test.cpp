// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "riesz/testing/error.h"

namespace riesz {
namespace {

std::vector<std::int64_t> sizes_of(const Split& split) {
  std::vector<std::int64_t> sizes;
  for (int worker = 0; worker < split.workers(); ++worker) sizes.push_back(split[worker].size());
  return sizes;
}

using Sizes = std::vector<std::int64_t>;

TEST(Balanced, GivesTheFirstWorkersOneUnitMore) {
  EXPECT_EQ(sizes_of(Split::balanced(7, 3)), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of(Split::balanced(6, 4, 2)), (Sizes{2, 2, 2, 0}));
  EXPECT_EQ(sizes_of(Split::balanced(10, 4, 2)), (Sizes{4, 2, 2, 2}));
  EXPECT_EQ(sizes_of(Split::balanced(2, 5)), (Sizes{1, 1, 0, 0, 0}));
  EXPECT_EQ(sizes_of(Split::balanced(0, 2)), (Sizes{0, 0}));
  EXPECT_EQ(sizes_of(Split::balanced(5, 1)), (Sizes{5}));
}

TEST(Balanced, CoversEverythingInOrderInWholeUnitsAsEvenlyAsCanBe) {
  for (std::int64_t units = 0; units <= 12; ++units) {
    for (int p = 1; p <= 9; ++p) {
      for (const std::int64_t unit : {1, 3}) {
        const Split split = Split::balanced(units * unit, p, unit);
        const Sizes sizes = sizes_of(split);
        ASSERT_EQ(split.workers(), p);
        EXPECT_EQ(split.extent(), units * unit);
        std::int64_t end = 0;
        for (int worker = 0; worker < p; ++worker) {
          EXPECT_EQ(split[worker].begin, end);
          EXPECT_EQ(split[worker].size() % unit, 0);
          end = split[worker].end;
        }
        EXPECT_EQ(end, units * unit);
        EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
        EXPECT_LE(sizes.front() - sizes.back(), unit);
      }
    }
  }
}

TEST(Balanced, RefusesWhatIsNoWholeNumberOfUnits) {
  EXPECT_ERROR(Split::balanced(7, 2, 2), "7 is not a whole number of units of 2",
               "choose a unit that divides it");
  EXPECT_ERROR(Split::balanced(-1, 2), "Split::balanced(-1, 2, 1)", "n >= 0");
  EXPECT_ERROR(Split::balanced(4, 0), "at least one worker");
  EXPECT_ERROR(Split::balanced(4, 2, 0), "a unit of at least 1");
}

TEST(Sizes, AreTakenAsGiven) {
  const Split split = Split::sizes({3, 0, 4});

  EXPECT_EQ(split.workers(), 3);
  EXPECT_EQ(split.extent(), 7);
  EXPECT_EQ(split[0], (Interval{0, 3}));
  EXPECT_EQ(split[1], (Interval{3, 3}));
  EXPECT_EQ(split[2], (Interval{3, 7}));
  EXPECT_EQ(to_string(split), "3+0+4");
  EXPECT_ERROR(Split::sizes({2, -1}), "a shard of -1 elements");
}

TEST(Zigzag, GivesWorkerIChunksIAndTwoPMinusOneMinusI) {
  const Split split = Split::zigzag(9, 2);  // chunks of 3, 2, 2, 2

  EXPECT_EQ(split.workers(), 2);
  EXPECT_EQ(split.extent(), 9);
  EXPECT_FALSE(split.overlaps());
  EXPECT_EQ(split.held(0), (Intervals{{0, 3}, {7, 9}}));
  EXPECT_EQ(split.held(1), (Intervals{{3, 5}, {5, 7}}));
  EXPECT_EQ(to_string(split), "([0,3),[7,9))+([3,5),[5,7))");
  EXPECT_EQ(Split::zigzag(12, 2, 3).held(0), (Intervals{{0, 3}, {9, 12}}));
  EXPECT_EQ(Split::zigzag(3, 4).held(3), (Intervals{{3, 3}, {3, 3}}));
  EXPECT_ERROR(Split::zigzag(7, 2, 2), "7 is not a whole number of units of 2");
  EXPECT_ERROR(Split::zigzag(4, 0), "at least one worker");
}

TEST(Zigzag, GivesEveryWorkerTheSameCausalWork) {
  for (int p = 1; p <= 6; ++p) {
    const Split split = Split::zigzag(2 * p * 3, p);
    std::vector<std::int64_t> work(static_cast<std::size_t>(p), 0);  // index i attends to i + 1
    for (int worker = 0; worker < p; ++worker) {
      for (const Interval& chunk : split.held(worker)) {
        for (std::int64_t i = chunk.begin; i < chunk.end; ++i)
          work[static_cast<std::size_t>(worker)] += i + 1;
      }
    }
    EXPECT_EQ(work, std::vector<std::int64_t>(work.size(), work.front()));
  }
}

TEST(Pieces, AreTakenAsGivenEachIndexOnce) {
  const std::vector<Intervals> held{{{6, 9}, {0, 2}}, {}, {{2, 2}, {2, 6}}};
  const Split split = Split::pieces(9, held);

  EXPECT_EQ(split.extent(), 9);
  EXPECT_FALSE(split.overlaps());
  for (int worker = 0; worker < 3; ++worker)
    EXPECT_EQ(split.held(worker), held[static_cast<std::size_t>(worker)]);
  EXPECT_EQ(Split::pieces(5, {{{0, 3}}, {{3, 5}}}), Split::sizes({3, 2}));
}

TEST(Pieces, SayWhatIsHeldTwiceOrByNone) {
  EXPECT_ERROR(Split::pieces(5, {{{0, 3}}, {{2, 5}}}), "Split::pieces: index 2 is held twice",
               "Split::covering");
  EXPECT_ERROR(Split::pieces(5, {{{0, 3}}, {{4, 5}}}), "Split::pieces: no worker holds index 3");
  EXPECT_ERROR(Split::pieces(5, {{{0, 3}}}), "Split::pieces: no worker holds index 3 of 5");
  EXPECT_ERROR(Split::pieces(5, {{{0, 6}}}), "Split::pieces: [0,6) is not inside [0,5)");
}

TEST(Covering, IsTakenAsGivenAndOverlaps) {
  const Split split = Split::covering(7, {{{0, 4}}, {{2, 7}}, {}, {{6, 7}, {0, 1}}});

  EXPECT_EQ(split.workers(), 4);
  EXPECT_EQ(split.extent(), 7);
  EXPECT_TRUE(split.overlaps());
  EXPECT_EQ(split[1], (Interval{2, 7}));
  EXPECT_EQ(split.held(2), Intervals{});
  EXPECT_EQ(to_string(split), "[0,4)+[2,7)+()+([6,7),[0,1))");
  EXPECT_EQ(to_string(Split::covering(4, {{{0, 2}}, {{2, 4}}})), "[0,2)+[2,4)");
  EXPECT_EQ(Split::covering(0, {{}, {{0, 0}}}).extent(), 0);
}

TEST(Covering, SaysWhatItDoesNotCover) {
  EXPECT_ERROR(Split::covering(7, {{{0, 3}}, {{4, 7}}}), "no worker holds index 3");
  EXPECT_ERROR(Split::covering(7, {{{1, 7}}}), "no worker holds index 0");
  EXPECT_ERROR(Split::covering(7, {{{0, 3}}, {{2, 6}}}), "no worker holds index 6 of 7");
  EXPECT_ERROR(Split::covering(2, {{}, {}}), "no worker holds index 0 of 2");
  EXPECT_ERROR(Split::covering(7, {{{0, 8}}}), "[0,8) is not inside [0,7)", "clip what is needed",
               "wrap it around");
  EXPECT_ERROR(Split::covering(7, {{{0, 7}}, {{-1, 2}}}), "[-1,2) is not inside [0,7)");
  EXPECT_ERROR(Split::covering(7, {{{0, 7}}, {{3, 2}}}), "[3,2) is not inside [0,7)");
}

std::vector<Split> splits_of_seven() {
  return {Split::balanced(7, 3),
          Split::sizes({0, 7, 0}),
          Split::zigzag(7, 3),
          Split::covering(7, {{{0, 4}}, {{1, 6}}, {{3, 7}}}),
          Split::covering(7, {{{6, 7}, {0, 3}, {3, 4}}, {{2, 7}, {0, 2}, {0, 2}}, {}}),
          Split::covering(7, {{}, {{0, 7}, {0, 7}}, {{0, 7}}})};
}

TEST(Owned, IsEachIndexOnceWithItsFirstHolderWhereItLies) {
  for (const Split& base : splits_of_seven()) {
    for (int k = 0; k < 3; ++k) {
      const Split split = base.rotated(k);
      std::vector<int> owner(7, -1);
      for (int worker = 0; worker < split.workers(); ++worker) {
        std::vector<std::int64_t> held;
        for (const Interval& interval : split.held(worker)) {
          for (std::int64_t i = interval.begin; i < interval.end; ++i) held.push_back(i);
        }
        std::vector<std::int64_t> places;
        for (const std::int64_t index : held) {
          int& first = owner[static_cast<std::size_t>(index)];
          if (first < 0) places.push_back(std::find(held.begin(), held.end(), index) - held.begin());
          if (first < 0) first = worker;
        }
        std::vector<std::int64_t> found;
        for (const Segment& segment : split.owned(worker)) {
          for (std::int64_t i = 0; i < segment.global.size(); ++i) {
            found.push_back(segment.local + i);
            EXPECT_EQ(held.at(static_cast<std::size_t>(segment.local + i)), segment.global.begin + i);
          }
        }
        EXPECT_EQ(found, places) << to_string(split) << " worker " << worker;
      }
      EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
    }
  }
}

TEST(Rotated, GivesWorkerIWhatWorkerIMinusKHeld) {
  for (const Split& split : splits_of_seven()) {
    for (int k = -7; k <= 7; ++k) {
      const Split turned = split.rotated(k);
      EXPECT_EQ(turned.extent(), 7);
      EXPECT_EQ(turned.overlaps(), split.overlaps());
      for (int worker = 0; worker < 3; ++worker) {
        EXPECT_EQ(turned.held(((worker + k) % 3 + 3) % 3), split.held(worker));
      }
      EXPECT_EQ(turned.rotated(-k), split);
    }
    EXPECT_EQ(split.rotated(3), split);
    EXPECT_EQ(split.rotated(1).rotated(1), split.rotated(2));
  }
  EXPECT_EQ(to_string(Split::sizes({3, 0, 4}).rotated(1)), "[3,7)+[0,3)+[3,3)");
}

TEST(Split, IsEqualByItsIntervals) {
  EXPECT_NE(Split::covering(7, {{{0, 3}}, {{3, 7}}}), Split::sizes({3, 4}));  // one may overlap
  EXPECT_EQ(Split::covering(7, {{{0, 3}}, {{3, 7}}}), Split::covering(7, {{{0, 3}}, {{3, 7}}}));
  EXPECT_NE(Split::balanced(6, 3).rotated(1), Split::balanced(6, 3));
  EXPECT_EQ(Split::balanced(7, 3), Split::sizes({3, 2, 2}));
  EXPECT_NE(Split::balanced(7, 3), Split::sizes({2, 3, 2}));
  EXPECT_NE(Split::sizes({3, 4}), Split::sizes({3, 4, 0}));
}

TEST(Intersect, IsTheCommonPart) {
  EXPECT_EQ(intersect({2, 6}, {4, 9}), (Interval{4, 6}));
  EXPECT_EQ(intersect({4, 9}, {2, 6}), (Interval{4, 6}));
  EXPECT_EQ(intersect({0, 9}, {3, 5}), (Interval{3, 5}));
  EXPECT_EQ(intersect({3, 5}, {0, 9}), (Interval{3, 5}));
}

TEST(Intersect, OfWhatDoesNotMeetIsEmptyAndBeginsInTheFirst) {
  const std::vector<Interval> intervals{{0, 0}, {0, 3}, {2, 5}, {5, 5}, {5, 8}, {8, 8}};
  for (const Interval& a : intervals) {
    for (const Interval& b : intervals) {
      const Interval common = intersect(a, b);
      EXPECT_GE(common.begin, a.begin);
      EXPECT_LE(common.end, a.end);
      std::int64_t in_both = 0;
      for (std::int64_t i = 0; i < 9; ++i) in_both += a.begin <= i && i < a.end && b.begin <= i && i < b.end;
      EXPECT_EQ(common.size(), in_both);
    }
  }
}

TEST(Volume, CountsElements) {
  EXPECT_EQ(volume(Box{}), 1);
  EXPECT_EQ(volume({{1, 4}, {0, 2}}), 6);
  EXPECT_EQ(volume({{1, 4}, {2, 2}}), 0);
}

}  // namespace
}  // namespace riesz
