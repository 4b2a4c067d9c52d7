// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <vector>

namespace riesz::testing {
namespace {

/// (factor, value, factor, value) of all that stand together.
std::set<std::array<int, 4>> pairs_in(const std::vector<Choice>& choices) {
  std::set<std::array<int, 4>> pairs;
  for (const Choice& choice : choices) {
    for (int a = 0; a < static_cast<int>(choice.size()); ++a) {
      for (int b = a + 1; b < static_cast<int>(choice.size()); ++b)
        pairs.insert({a, choice[static_cast<std::size_t>(a)], b, choice[static_cast<std::size_t>(b)]});
    }
  }
  return pairs;
}

TEST(Pairs, AllOccurInFewChoices) {
  const auto choices = all_choices({9, 6, 4, 5, 2, 2});
  EXPECT_EQ(choices.size(), 9U * 6 * 4 * 5 * 2 * 2);
  const auto some = covering_pairs(choices);
  const auto pairs = pairs_in(some);
  EXPECT_EQ(pairs.size(), 9U * (6 + 4 + 5 + 2 + 2) + 6 * (4 + 5 + 2 + 2) + 4 * (5 + 2 + 2) + 5 * 4 + 4);
  EXPECT_EQ(pairs, pairs_in(choices));
  EXPECT_GE(some.size(), 54U);  // the two factors with the most values
  EXPECT_LE(some.size(), 62U);
  EXPECT_EQ(some, covering_pairs(choices));
}

TEST(Pairs, AreThoseThatMayOccur) {
  const auto rising = [](const Choice& c) { return c[0] <= c[1] && c[1] <= c[2]; };
  const auto choices = all_choices({4, 4, 4}, rising);
  const auto some = covering_pairs(choices);
  EXPECT_LT(some.size(), choices.size());
  EXPECT_EQ(pairs_in(some), pairs_in(choices));
  for (const Choice& choice : some) EXPECT_TRUE(rising(choice));
}

TEST(Pairs, AreBroughtByCheapChoicesFirst) {
  const auto choices = all_choices({3, 4, 4});
  const auto dear = [](const Choice& c) { return c[0] == 2 ? 100.0 : 1.0; };
  const auto some = covering_pairs(choices, dear);
  EXPECT_EQ(pairs_in(some), pairs_in(choices));
  const auto is_dear = [&](const Choice& c) { return dear(c) > 1; };
  EXPECT_EQ(std::count_if(some.begin(), some.end(), is_dear), 4);  // its own pairs, and no others
  EXPECT_EQ(std::count_if(some.end() - 4, some.end(), is_dear), 4);
}

TEST(Pairs, OfOneFactorOrNoChoiceAreNone) {
  EXPECT_EQ(all_choices({2}), (std::vector<Choice>{{0}, {1}}));
  EXPECT_TRUE(covering_pairs(all_choices({2})).empty());
  EXPECT_TRUE(all_choices({3, 0}).empty());
  EXPECT_TRUE(covering_pairs({}).empty());
}

}  // namespace
}  // namespace riesz::testing
