// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

TEST(Draws, AreTheWordsOfPhiloxTwoByTwo) {
  Draws draws(7, "data", 3);

  const auto first = philox(philox_key(7, "data"), 0, 3);
  const auto second = philox(philox_key(7, "data"), 1, 3);
  EXPECT_EQ(draws.bits(), std::uint64_t{first[0]} << 32 | first[1]);
  EXPECT_EQ(draws.bits(), std::uint64_t{first[2]} << 32 | first[3]);
  EXPECT_EQ(draws.bits(), std::uint64_t{second[0]} << 32 | second[1]);
}

TEST(Draws, DifferBySeedNameAndStream) {
  const std::set<std::uint64_t> firsts = {Draws(1, "a", 0).bits(), Draws(2, "a", 0).bits(),
                                          Draws(1, "b", 0).bits(), Draws(1, "a", 1).bits()};
  EXPECT_EQ(firsts.size(), 4u);
}

TEST(Draws, BelowReachesAllAndOnlyNumbersBelowEvenly) {
  Draws draws(1, "below");
  std::array<int, 7> counts{};

  for (int i = 0; i < 70000; ++i) {
    const std::uint64_t draw = draws.below(7);
    ASSERT_LT(draw, 7u);
    ++counts[draw];
  }

  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
}

TEST(Draws, UniformLiesInTheUnitInterval) {
  Draws draws(1, "uniform");
  double sum = 0;

  for (int i = 0; i < 10000; ++i) {
    const double draw = draws.uniform();
    ASSERT_GE(draw, 0);
    ASSERT_LT(draw, 1);
    sum += draw;
  }

  EXPECT_NEAR(sum / 10000, 0.5, 0.015);
}

TEST(Permutation, HasEachNumberOnce) {
  for (const std::int64_t n : {0, 1, 2, 1000}) {
    std::vector<std::int64_t> order = permutation(n, Draws(5, "order"));
    ASSERT_EQ(static_cast<std::int64_t>(order.size()), n);
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(Permutation, PutsEveryNumberInEveryPlaceAlikeOften) {
  std::array<std::array<int, 3>, 3> counts{};

  for (std::uint64_t stream = 0; stream < 9000; ++stream) {
    const std::vector<std::int64_t> order = permutation(3, Draws(1, "order", stream));
    for (std::size_t place = 0; place < 3; ++place) ++counts[place][static_cast<std::size_t>(order[place])];
  }

  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 3000, 230);
  }
}

}  // namespace
}  // namespace riesz
