// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/divide.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "every_division.h"

namespace riesz::testing {
namespace {

void expect_same(const Division& found, const Division& best) {
  EXPECT_EQ(found.ends, best.ends);
  EXPECT_EQ(found.workers, best.workers);
  EXPECT_EQ(found.largest, best.largest);
}

TEST(Divide, IsTheBestOfAll) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> costs(1 + random() % 9);
    for (double& cost : costs) cost = static_cast<double>(random() % 5);
    const int stages = 1 + static_cast<int>(random() % costs.size());
    expect_same(divide(costs, stages), best_division(costs.size(), stages, 1, sum_of(costs)));
  }
}

TEST(Divide, IsTheBestOfAllThatArePossibleOnManyWorkers) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::size_t things = 1 + random() % 5;
    const int workers = 1 + static_cast<int>(random() % 5), replicas = 1 + static_cast<int>(random() % 3);
    const auto seed = random();
    const StageCost cost = [&](std::size_t begin, std::size_t end, int r, int from_here) {
      std::mt19937 one(static_cast<unsigned>(seed + 1000 * begin + 100 * end) +
                       static_cast<unsigned>(10 * r + from_here));
      const auto value = one() % 12;
      return value > 8 ? std::numeric_limits<double>::infinity() : static_cast<double>(value);
    };
    expect_same(divide(things, workers, replicas, cost), best_division(things, workers, replicas, cost));
  }
}

TEST(Divide, GivesMoreToTheFirstStages) {
  EXPECT_EQ(divide({1, 1, 1, 1, 1}, 3).ends, (std::vector<std::size_t>{2, 4, 5}));
  EXPECT_EQ(divide({0, 1, 0, 1, 0}, 2).ends, (std::vector<std::size_t>{3, 5}));
  EXPECT_EQ(divide({0, 0, 0, 0}, 3).ends, (std::vector<std::size_t>{2, 3, 4}));
}

TEST(Divide, HasNothingWhereThereIsNoWay) { EXPECT_TRUE(divide({1, 1}, 3).ends.empty()); }

}  // namespace
}  // namespace riesz::testing
