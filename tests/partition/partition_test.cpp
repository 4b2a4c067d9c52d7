// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/partition.h"

#include <gtest/gtest.h>

#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"

namespace riesz {
namespace {

std::vector<int> world_ranks(const Partition& P) {
  std::vector<int> ranks;
  for (int rank = 0; rank < P.size(); ++rank) ranks.push_back(P.world_rank(rank));
  return ranks;
}

using Ranks = std::vector<int>;

/// What is made of a partition is of its job, also while another goes on.
TEST(Partition, OfPartitionIsOfItsJob) {
  const Partition world = Partition::world();
  const int p = world.size();
  const std::vector<Axis> axes{{"a", p}, {"b", 1}};
  const Partition grid = world.grid(axes);
  const Simulation job(Runtime::rank(), p);
  EXPECT_EQ(world.grid(axes), grid);
  EXPECT_NE(Partition::world().grid(axes), grid);
  EXPECT_EQ(grid.along({"a", "b"}), grid);
  EXPECT_EQ(grid.along({"a"}), grid.at("b", 0));
  EXPECT_NE(grid.along({"a"}), Partition::world().grid(axes).along({"a"}));
  EXPECT_NE(grid.subset({0}), Partition::world().subset({0}));
  EXPECT_NE(world | world, Partition::world() | Partition::world());
}

TEST(World, IsAllWorkersInOrder) {
  const Partition world = Partition::world();

  EXPECT_EQ(world.size(), Runtime::size());
  EXPECT_EQ(world.rank(), Runtime::rank());
  EXPECT_TRUE(world.active());
  EXPECT_TRUE(world.real());
  for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(world.world_rank(rank), rank);
}

TEST(Simulated, IsSeenByTheGivenWorker) {
  const Partition P = Partition::simulated(6, 4);

  EXPECT_EQ(P.size(), 6);
  EXPECT_EQ(P.rank(), 4);
  EXPECT_FALSE(P.real());
  EXPECT_ERROR(Partition::simulated(4, 4), "simulated(4, 4)", "0 <= me < size");
  EXPECT_ERROR(Partition::simulated(0), "0 <= me < size");
}

TEST(Grid, IsRowMajor) {
  const Partition grid = Partition::simulated(6).grid({{"a", 2}, {"b", 3}});

  EXPECT_EQ(grid.coordinates(0), (Ranks{0, 0}));
  EXPECT_EQ(grid.coordinates(1), (Ranks{0, 1}));
  EXPECT_EQ(grid.coordinates(3), (Ranks{1, 0}));
  EXPECT_EQ(grid.coordinates(5), (Ranks{1, 2}));
  EXPECT_EQ(to_string(grid), "(a=2, b=3)");
}

TEST(Grid, CoordinatesAndRanksAreInverse) {
  testing::for_each_grid(Partition::world(), [](const Partition& grid) {
    for (int rank = 0; rank < grid.size(); ++rank) {
      EXPECT_EQ(grid.rank_of(grid.coordinates(rank)), rank);
      for (std::size_t a = 0; a < grid.axes().size(); ++a)
        EXPECT_LT(grid.coordinates(rank)[a], grid.axes()[a].extent);
    }
  });
}

TEST(Grid, RefusesOtherSizesNamingBoth) {
  const Partition P = Partition::simulated(6);

  EXPECT_ERROR(P.grid({{"dp", 2}, {"tp", 4}}), "2 x 4 = 8 workers", "axes dp, tp",
               "does not fit the partition's 6");
  EXPECT_ERROR(P.grid({}), "= 1 workers", "6");
  EXPECT_ERROR(P.grid({{"a", 2}, {"a", 3}}), "two axes are named a");
  EXPECT_ERROR(P.grid({{"a", -2}, {"b", -3}}), "axis a has extent -2", "at least 1");
}

TEST(Axes, AreFoundByName) {
  const Partition grid = Partition::simulated(6).grid({{"a", 2}, {"b", 3}});

  EXPECT_EQ(grid.find("b"), 1);
  EXPECT_EQ(grid.find("c"), -1);
  EXPECT_EQ(grid.extent("b"), 3);
  EXPECT_ERROR(grid.index("c"), "no axis is named \"c\" on (a=2, b=3); its axes: a, b");
}

TEST(Fibre, IsTheWorkersThatAgreeOffTheAxesInRankOrder) {
  testing::for_each_grid(Partition::world(), [](const Partition& grid) {
    const int axes = static_cast<int>(grid.axes().size());
    for (int set = 0; set < 1 << axes; ++set) {
      Ranks chosen;
      for (int a = axes - 1; a >= 0; --a) {  // in any order of the axes
        if ((set >> a & 1) != 0) chosen.push_back(a);
      }
      for (int rank = 0; rank < grid.size(); ++rank) {
        Ranks expected;
        for (int other = 0; other < grid.size(); ++other) {
          bool same = true;
          for (int a = 0; a < axes; ++a) {
            const auto at = static_cast<std::size_t>(a);
            same = same && ((set >> a & 1) != 0 || grid.coordinates(rank)[at] == grid.coordinates(other)[at]);
          }
          if (same) expected.push_back(other);
        }
        EXPECT_EQ(grid.fibre(rank, chosen), expected);
      }
    }
  });
}

TEST(Along, IsTheFibreThroughMe) {
  for (int me = 0; me < 8; ++me) {
    const Partition grid = Partition::simulated(8, me).grid({{"a", 2}, {"b", 2}, {"c", 2}});

    const Partition b = grid.along("b");
    EXPECT_EQ(world_ranks(b), (Ranks{me & 5, (me & 5) | 2}));
    EXPECT_EQ(b.rank(), me >> 1 & 1);
    EXPECT_EQ(to_string(b), "(b=2)");

    const Partition ca = grid.along({"c", "a"});
    EXPECT_EQ(world_ranks(ca), (Ranks{me & 2, (me & 2) | 1, (me & 2) | 4, (me & 2) | 5}));
    EXPECT_EQ(to_string(ca), "(a=2, c=2)");
  }
}

TEST(Along, RefusesUnknownAndRepeatedAxesAndOutsiders) {
  const Partition grid = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});

  EXPECT_ERROR(grid.along("x"), "no axis is named \"x\"");
  EXPECT_ERROR(grid.along({"a", "a"}), "axis a is given twice");
  EXPECT_ERROR(grid.subset({1, 2}).along("subset"), "this worker is not in (subset=2)");
}

TEST(At, IsTheSliceWhereverIAm) {
  for (int me = 0; me < 6; ++me) {
    const Partition grid = Partition::simulated(6, me).grid({{"a", 2}, {"b", 3}});

    const Partition slice = grid.at("b", 1);
    EXPECT_EQ(world_ranks(slice), (Ranks{1, 4}));
    EXPECT_EQ(to_string(slice), "(a=2)");
    EXPECT_EQ(slice.active(), me % 3 == 1);
    EXPECT_EQ(slice.rank(), me % 3 == 1 ? me / 3 : -1);
    EXPECT_ERROR(grid.at("b", 3), "b = 3 is outside (a=2, b=3)");
    EXPECT_ERROR(grid.at("b", -1), "b = -1 is outside");
  }
}

TEST(Factor, SeesOneAxisAsSeveral) {
  const Partition grid = Partition::simulated(8, 5).grid({{"dp", 2}, {"tp", 4}});

  const Partition fine = grid.factor("tp", {{"a", 2}, {"b", 2}});

  EXPECT_EQ(to_string(fine), "(dp=2, a=2, b=2)");
  EXPECT_EQ(world_ranks(fine), world_ranks(grid));
  EXPECT_EQ(fine.coordinates(5), (Ranks{1, 0, 1}));
  EXPECT_EQ(world_ranks(fine.along({"a", "b"})), world_ranks(grid.along("tp")));
  EXPECT_ERROR(grid.factor("tp", {{"a", 3}, {"b", 2}}), "3 x 2 = 6 is not the extent 4 of axis tp");
  EXPECT_ERROR(grid.factor("tp", {{"dp", 2}, {"b", 2}}), "two axes are named dp");
}

TEST(Subset, KeepsTheGivenOrder) {
  const Partition P = Partition::simulated(6, 2).subset({5, 2, 3});

  EXPECT_EQ(world_ranks(P), (Ranks{5, 2, 3}));
  EXPECT_EQ(P.workers(), (Ranks{5, 2, 3}));
  EXPECT_EQ(P.rank(), 1);
  EXPECT_EQ(to_string(P), "(subset=3)");
  EXPECT_EQ(world_ranks(P.subset({2, 0})), (Ranks{3, 5}));
  EXPECT_FALSE(P.subset({0, 2}).active());
  EXPECT_EQ(P.subset({0, 2}).rank(), -1);
  EXPECT_ERROR(P.subset({3}), "rank 3 is outside (subset=3)");
  EXPECT_ERROR(P.subset({1, 1}), "rank 1 is given twice");
  EXPECT_ERROR(P.subset({}), "no ranks given");
}

TEST(Union, IsTheFirstThenTheExtrasOfTheSecond) {
  const Partition world = Partition::simulated(6, 4);

  const Partition both = world.subset({5, 2}) | world.subset({4, 2, 0});

  EXPECT_EQ(world_ranks(both), (Ranks{5, 2, 4, 0}));
  EXPECT_EQ(both.rank(), 2);
  EXPECT_ERROR(world | Partition::world(), "one partition is simulated and the other is not");
}

TEST(Equality, IsOfWorkersOrderAndGrid) {
  const Partition world = Partition::simulated(4);

  EXPECT_EQ(world, Partition::simulated(4));
  EXPECT_EQ(world.grid({{"a", 2}, {"b", 2}}), world.grid({{"a", 2}, {"b", 2}}));
  EXPECT_NE(world.grid({{"a", 2}, {"b", 2}}), world.grid({{"b", 2}, {"a", 2}}));
  EXPECT_NE(world.grid({{"a", 2}, {"b", 2}}), world.grid({{"a", 4}}));
  EXPECT_NE(world.grid({{"a", 4}}), world.grid({{"b", 4}}));
  EXPECT_NE(world.subset({0, 1}), world.subset({1, 0}));
  EXPECT_NE(Partition::simulated(4, 1), Partition::simulated(4, 2));
  EXPECT_NE(Partition::simulated(Runtime::size()), Partition::world());
}

}  // namespace
}  // namespace riesz
