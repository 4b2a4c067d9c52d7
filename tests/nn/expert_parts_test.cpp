// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/expert_parts.h"

#include <gtest/gtest.h>

#include <vector>

#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Part = ExpertParts::Part;

TEST(ExpertParts, AreWholeExpertsOnFewWorkers) {
  const ExpertParts three(3, 7, 2);
  EXPECT_EQ(three.parts(), (std::vector<Part>{{0, {0, 7}}, {1, {0, 7}}, {2, {0, 7}}}));
  EXPECT_EQ(three.split(), Split::sizes({2, 1}));
  EXPECT_EQ(three.inner_of(0), Split::sizes({7, 0}));
  EXPECT_EQ(three.inner_of(2), Split::sizes({0, 7}));
}

TEST(ExpertParts, ShareAnExpertWhereWorkersAreMore) {
  const ExpertParts two(2, 7, 5);
  EXPECT_EQ(two.parts(),
            (std::vector<Part>{{0, {0, 3}}, {0, {3, 5}}, {0, {5, 7}}, {1, {0, 4}}, {1, {4, 7}}}));
  EXPECT_EQ(two.split(), Split::balanced(5, 5));
  EXPECT_EQ(two.parts_of(1), (Interval{3, 5}));
  EXPECT_EQ(two.inner_of(0), Split::sizes({3, 2, 2, 0, 0}));
  EXPECT_EQ(two.inner_of(1), Split::sizes({0, 0, 0, 4, 3}));
  EXPECT_EQ(ExpertParts(1, 2, 3).inner_of(0), Split::sizes({1, 1, 0}));
}

TEST(ExpertParts, AreOfAtLeastOneExpert) {
  EXPECT_ERROR(ExpertParts(0, 4, 2), "0 experts", "at least 1");
  EXPECT_ERROR(ExpertParts(2, 0, 2), "inner width of 0");
}

}  // namespace
}  // namespace riesz::testing
