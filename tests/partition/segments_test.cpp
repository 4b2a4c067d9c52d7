// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/intervals/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace riesz {

void PrintTo(const Segment& segment, std::ostream* out) {
  *out << "[" << segment.global.begin << ", " << segment.global.end << ") at " << segment.local;
}

namespace {

/// Global indices by local index.
std::vector<std::int64_t> listed(const Intervals& held) {
  std::vector<std::int64_t> indices;
  for (const Interval& interval : held) {
    for (std::int64_t i = interval.begin; i < interval.end; ++i) indices.push_back(i);
  }
  return indices;
}

/// (global, local) of each index of the segments.
std::vector<std::pair<std::int64_t, std::int64_t>> places(const Segments& segments) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const Segment& segment : segments) {
    for (std::int64_t i = 0; i < segment.global.size(); ++i) {
      found.emplace_back(segment.global.begin + i, segment.local + i);
    }
  }
  return found;
}

/// Which of the intervals has this local index.
std::size_t number_of(const Intervals& held, std::int64_t local) {
  std::size_t number = 0;
  while (local >= held[number].size()) local -= held[number++].size();
  return number;
}

class AnyIntervals {
 public:
  Intervals operator()(int most = 3, int extent = 8) {
    Intervals intervals;
    for (int left = any_of(most + 1); left > 0; --left) {
      const std::int64_t begin = any_of(extent);
      intervals.push_back({begin, begin + any_of(5)});
    }
    return intervals;
  }
  int any_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

 private:
  std::mt19937 random_{5};
};

TEST(Segments, LieOneAfterAnotherInTheOrderHeld) {
  EXPECT_EQ(segments({{4, 6}, {0, 3}}), (Segments{{{4, 6}, 0}, {{0, 3}, 2}}));
  EXPECT_EQ(segments({}), Segments{});
  AnyIntervals any;
  for (int i = 0; i < 200; ++i) {
    const Intervals held = any();
    const std::vector<std::int64_t> indices = listed(held);
    const auto found = places(segments(held));
    ASSERT_EQ(found.size(), indices.size());
    for (std::size_t local = 0; local < indices.size(); ++local) {
      EXPECT_EQ(found[local], (std::pair{indices[local], static_cast<std::int64_t>(local)}));
    }
  }
}

TEST(Segments, WithoutWhatIsTakenStayWhereTheyLie) {
  EXPECT_EQ(detail::subtract(segments({{0, 9}}), {{2, 4}, {7, 7}}), (Segments{{{0, 2}, 0}, {{4, 9}, 4}}));
  AnyIntervals any;
  for (int i = 0; i < 500; ++i) {
    const Intervals held = any();
    const Intervals taken = any();
    const std::vector<std::int64_t> gone = listed(taken);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (const auto& place : places(segments(held))) {
      if (std::count(gone.begin(), gone.end(), place.first) == 0) expected.push_back(place);
    }
    EXPECT_EQ(places(detail::subtract(segments(held), taken)), expected);
  }
}

TEST(Segments, OnceAreEachIndexWhereItComesFirst) {
  EXPECT_EQ(detail::first_occurrences(segments({{3, 4}, {0, 4}, {0, 2}})),
            (Segments{{{3, 4}, 0}, {{0, 3}, 1}}));
  AnyIntervals any;
  for (int i = 0; i < 500; ++i) {
    const Segments held = segments(any());
    std::set<std::int64_t> seen;
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (const auto& place : places(held)) {
      if (seen.insert(place.first).second) expected.push_back(place);
    }
    EXPECT_EQ(places(detail::first_occurrences(held)), expected);
  }
}

TEST(Common, PairsEveryPlaceOfTheOneWithEveryOfTheOther) {
  AnyIntervals any;
  for (int i = 0; i < 300; ++i) {
    const std::vector<Intervals> a{any(12, 20), any()};
    const std::vector<Intervals> b{any(12, 20), any()};
    std::multiset<std::vector<std::int64_t>> found;
    std::vector<std::vector<std::size_t>> order;
    for (const CommonBox& box :
         detail::common_boxes({segments(a[0]), segments(a[1])}, {segments(b[0]), segments(b[1])})) {
      ASSERT_EQ(volume(box.in_a), volume(box.in_b));
      EXPECT_GT(volume(box.in_a), 0);
      order.push_back({number_of(a[0], box.in_a[0].begin), number_of(b[0], box.in_b[0].begin),
                       number_of(a[1], box.in_a[1].begin), number_of(b[1], box.in_b[1].begin)});
      for (std::int64_t x = 0; x < box.in_a[0].size(); ++x) {
        for (std::int64_t y = 0; y < box.in_a[1].size(); ++y) {
          found.insert(
              {box.in_a[0].begin + x, box.in_a[1].begin + y, box.in_b[0].begin + x, box.in_b[1].begin + y});
        }
      }
    }
    std::multiset<std::vector<std::int64_t>> expected;
    for (const auto& [x, in_ax] : places(segments(a[0]))) {
      for (const auto& [u, in_bu] : places(segments(b[0]))) {
        for (const auto& [y, in_ay] : places(segments(a[1]))) {
          for (const auto& [v, in_bv] : places(segments(b[1]))) {
            if (x == u && y == v) expected.insert({in_ax, in_ay, in_bu, in_bv});
          }
        }
      }
    }
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

/// In the order that both ends of a message count on, and soon: a table sharded by width has an interval a
/// row.
TEST(Common, OfManyRowsIsInTheirOrder) {
  constexpr std::int64_t rows = 50000;
  Intervals left, whole;
  for (std::int64_t row = 0; row < rows; ++row) {
    left.push_back({4 * row, 4 * row + 1});
    whole.push_back({4 * (rows - 1 - row), 4 * (rows - row)});
  }
  const Segments in_left = segments(left);
  const Segments in_whole = segments(whole);
  const std::vector<CommonBox> boxes = detail::common_boxes({in_left}, {in_whole});
  ASSERT_EQ(boxes.size(), left.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const CommonBox& box = boxes[static_cast<std::size_t>(row)];
    ASSERT_EQ(box.in_a, (Box{{row, row + 1}}));
    ASSERT_EQ(box.in_b, (Box{{4 * (rows - 1 - row), 4 * (rows - 1 - row) + 1}}));
  }
  EXPECT_EQ(detail::first_occurrences(in_whole), in_whole);
  EXPECT_EQ(detail::subtract(in_left, whole), Segments{});
  EXPECT_EQ(total(united(whole)), 4 * rows);
  EXPECT_EQ(united(whole).size(), 1u);
}

TEST(Common, OfNoDimsIsOneElement) {
  ASSERT_EQ(detail::common_boxes({}, {}).size(), 1u);
  EXPECT_EQ(volume(detail::common_boxes({}, {}).front().in_a), 1);
}

TEST(Within, TakesLocalIndicesToGlobalOnes) {
  EXPECT_EQ(within({{0, 2}, {6, 9}}, {{1, 4}}), (Intervals{{1, 2}, {6, 8}}));
  EXPECT_EQ(within({{3, 5}, {5, 9}}, {{0, 6}}), (Intervals{{3, 9}}));  // what continues is one
  EXPECT_EQ(within({{4, 8}}, {{2, 2}}), (Intervals{{6, 6}}));          // what is empty keeps its place
  EXPECT_EQ(within({{4, 8}}, {}), Intervals{});
  AnyIntervals any;
  for (int i = 0; i < 500; ++i) {
    const Intervals held = any();
    const std::vector<std::int64_t> indices = listed(held);
    Intervals part;
    for (const Interval& interval : any()) part.push_back(intersect({0, total(held)}, interval));
    std::vector<std::int64_t> expected;
    for (const std::int64_t local : listed(part))
      expected.push_back(indices[static_cast<std::size_t>(local)]);
    EXPECT_EQ(listed(within(held, part)), expected);
    EXPECT_EQ(total(within(held, part)), total(part));
  }
}

TEST(Volume, OfListsIsTheProductOfTheirTotals) {
  EXPECT_EQ(total({{1, 4}, {0, 2}, {3, 3}}), 5);
  EXPECT_EQ(total({}), 0);
  EXPECT_EQ(volume(Boxes{{{1, 4}, {0, 2}}, {{5, 7}}}), 10);
  EXPECT_EQ(volume(Boxes{{{1, 4}}, {}}), 0);
  EXPECT_EQ(volume(Boxes{}), 1);
}

}  // namespace
}  // namespace riesz
