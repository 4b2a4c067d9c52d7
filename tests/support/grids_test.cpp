// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/grids.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

std::set<std::string> grids_of(int n) {
  std::set<std::string> grids;
  for_each_grid(Partition::simulated(n), [&](const Partition& grid) {
    EXPECT_EQ(grid.size(), n);
    EXPECT_TRUE(grids.insert(to_string(grid)).second) << to_string(grid) << " comes twice";
  });
  return grids;
}

TEST(Grids, AreAllFactorisationsInAllOrders) {
  EXPECT_EQ(grids_of(1), (std::set<std::string>{"(a=1)", "(a=1, b=1)", "(a=1, b=1, c=1)"}));
  EXPECT_EQ(grids_of(4), (std::set<std::string>{"(a=4)", "(a=1, b=4)", "(a=2, b=2)", "(a=4, b=1)",
                                                "(a=1, b=1, c=4)", "(a=1, b=4, c=1)", "(a=4, b=1, c=1)",
                                                "(a=1, b=2, c=2)", "(a=2, b=1, c=2)", "(a=2, b=2, c=1)"}));
}

TEST(Grids, OfNAreAsManyAsProductsOfOneToThreeFactors) {
  EXPECT_EQ(grids_of(6).size(), 1u + 4u + 9u);
  EXPECT_EQ(grids_of(7).size(), 1u + 2u + 3u);
  EXPECT_EQ(grids_of(8).size(), 1u + 4u + 10u);
}

TEST(Grids, AreOfTheFirstWorkersOfTheJob) {
  const Partition world = Partition::world();
  int calls = 0;
  for_each_grid(1, [&](const Partition& grid) {
    ++calls;
    EXPECT_TRUE(grid.real());
    EXPECT_EQ(grid.active(), world.rank() == 0);
    EXPECT_EQ(grid.world_rank(0), 0);
  });

  EXPECT_EQ(calls, 3);
  EXPECT_ERROR(for_each_grid(world.size() + 1, [](const Partition&) {}), "is outside (world=");
}

}  // namespace
}  // namespace riesz::testing
