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

TEST(Split, IsEqualByItsIntervals) {
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
