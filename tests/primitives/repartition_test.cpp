// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Any boxes to any boxes: on one grid, and between partitions.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exchanges.h"
#include "random_spaces.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/moves.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

using Kinds = std::vector<Placement>;
const Kinds kAll{Placement::Replicated, Placement::Copied, Placement::Partial};

/// Each axis on the dim of its number, or both on the first; plain or in the other order.
std::vector<Space> lay_outs(const Space& ground) {
  std::vector<Space> spaces{ground};
  const std::vector<Axis>& axes = ground.partition().axes();
  const int dims = ground.dims();
  if (dims == 0) return {ground, ground.copied("a"), ground.partial("a")};
  for (const bool reversed : {false, true}) {
    Space nested = ground;
    Space spread = ground;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::string& name = axes[reversed ? axes.size() - 1 - i : i].name;
      nested = nested.sharded(0, name);
      spread = spread.sharded(static_cast<int>(i) % dims, name);
    }
    spaces.push_back(nested);
    spaces.push_back(spread);
  }
  const auto n = ground.shape().front();
  const int p = axes.front().extent;
  std::vector<std::int64_t> last(static_cast<std::size_t>(p), 0);
  last.back() = n;
  spaces.push_back(ground.sharded(0, "a", Split::zigzag(n, p)));
  spaces.push_back(ground.sharded(0, "a", Split::sizes(last)));
  return spaces;
}

TEST(Repartition, OfEveryShapeOnEveryGridIsNatural) {
  using Shape = std::vector<std::int64_t>;
  const std::vector<Shape> shapes{{},     {1},       {5},          {0, 2},          {1, 1},
                                  {3, 2}, {2, 1, 4}, {2, 1, 2, 1}, {1, 3, 1, 1, 2}, {2, 1, 3, 1, 2, 1}};
  std::size_t turn = 0;
  for_each_grid(Partition::world(), [&](const Partition& grid) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<Space> spaces = lay_outs(Space(grid, shapes[turn++ % shapes.size()]));
      for (std::size_t x = 0; x < spaces.size(); ++x)
        expect_natural(spaces[x], spaces[(x + turn) % spaces.size()]);
    }
  });
}

TEST(Repartition, OfAnyTwoPartitionsIsNatural) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    RandomSpaces random(seed);
    const Space ground = random.shape(random.grid(random.some_of(Partition::world())));
    Space other(random.grid(random.some_of(Partition::world())), ground.shape());
    for (int dim = 0; dim < ground.dims(); ++dim) other = other.unit(dim, ground.unit_of(dim));
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_natural(random.lay_out(ground, kAll, true), random.lay_out(other, kAll, true));
  }
}

TEST(Repartition, OfDisjointNestedAndPermutedPartitionsIsNaturalAndMinimal) {
  const Partition world = Partition::world();
  const int p = world.size();
  std::vector<int> low, high, all, even;
  for (int rank = 0; rank < p; ++rank) {
    (rank < (p + 1) / 2 ? low : high).push_back(rank);
    all.insert(all.begin(), rank);
    if (rank % 2 == 0) even.push_back(rank);
  }
  const auto on = [](const Partition& P, int dim) {
    return Space(P, {5, 4}).sharded(dim, P.axes().front().name);
  };
  std::vector<Partition> partitions{world, world.subset(low), world.subset(all), world.subset(even)};
  if (!high.empty()) partitions.push_back(world.subset(high));
  for (const Partition& P : partitions) {
    for (const Partition& Q : partitions) {
      for (const int dim : {0, 1}) {
        expect_natural(on(P, 0), on(Q, dim));
        expect_minimal(on(P, 0), on(Q, dim));
      }
    }
  }
}

TEST(Repartition, MovesWhatIsNeededAndNotOwned) {
  for (const int workers : {1, 2, 3, 4, 6, 8, 12}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      RandomSpaces random(seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + " on " + std::to_string(workers));
      const Partition world = Partition::simulated(workers);
      const Space ground = random.shape(random.grid(world));
      expect_minimal(random.shard_all(ground, seed % 2 == 0), random.shard_all(ground, true));
      const Space far(random.grid(random.some_of(world)), {7, 3});
      const Space near(random.grid(random.some_of(world)), {7, 3});
      if (far.partition() == near.partition()) continue;
      expect_minimal(random.shard_all(far, false), random.shard_all(near, true));
    }
  }
}

TEST(Repartition, OnAnyNumberOfWorkersMovesAsMuchBack) {
  const Kinds counted{Placement::Copied, Placement::Partial};  // on Replicated axes the costs differ
  for (const int workers : {5, 7, 9, 12, 16, 24}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      RandomSpaces random(seed);
      const Partition world = Partition::simulated(workers, random.any_of(workers));
      const Space ground = random.shape(random.grid(world));
      const Space X = random.lay_out(ground, counted, true);
      const Space Y = random.lay_out(ground, counted, true);
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n  from " + to_string(X) + "\n  to " + to_string(Y));
      const Operator A = between(X, Y);
      EXPECT_EQ(adjoint(A), between(dual(Y), dual(X)));
      Traffic there;
      Traffic back;
      for (int rank = 0; rank < workers; ++rank) {
        there += A.traffic(rank);
        back += adjoint(A).traffic(rank);
      }
      EXPECT_EQ(there, back);
    }
  }
}

TEST(Repartition, BetweenZigzagAndBalancedMovesHalf) {
  const Space X = Space(Partition::simulated(2), {8}).sharded(0, "world");
  const Space Y = X.replicated("world").sharded(0, "world", Split::zigzag(8, 2));
  const Operator A = between(X, Y);

  EXPECT_EQ(to_string(A), "Repartition over world: Sharded(0) -> Sharded(0)");
  EXPECT_EQ(A.traffic(0), (Traffic{2, 0, 1}));  // 2 and 3, for 6 and 7
  EXPECT_EQ(A.traffic(1), (Traffic{2, 0, 1}));
}

TEST(Repartition, ToTheSamePiecesSendsNothingAndIsAnAlias) {
  const at::NoGradGuard guard;
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const Space X = Space(grid, {5, 3}).sharded(0, "a");
    const Space Y = Space(grid, {5, 3}).sharded(0, "a", Split::balanced(5, grid.extent("a")));
    const Vector x = random_vector(X, 1);

    const Vector y = between(X, Y)(x);

    EXPECT_EQ(y.local().data_ptr(), x.local().data_ptr());
    EXPECT_EQ(between(X, Y).traffic(grid.rank()), Traffic{});
    EXPECT_EQ(y.space(), Y);
  });
}

TEST(Repartition, OfAnyTwoSpacesOnOneGridIsNatural) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomSpaces random(seed);
    const Space ground = random.shape(random.grid(Partition::world()));
    const Space X = random.lay_out(ground, kAll, true);
    const Space Y = random.lay_out(ground, kAll, true);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_natural(X, Y);
  }
}

/// Of an overlap a worker keeps what it has itself.
TEST(Repartition, BetweenPartitionsSendsNobodyACopyThatItHas) {
  if (Runtime::size() != 3) return;
  const Partition world = Partition::world();
  const Split overlaps = Split::covering(10, {{{0, 8}}, {{4, 10}}, {{6, 10}}});
  const Space X = Space(world, {10}).sharded(0, "world", overlaps);
  const Space Y = Space(world.subset({1, 2, 0}), {10}).sharded(0, "subset", Split::sizes({4, 3, 3}));
  expect_natural(X, Y);

  const Operator A = between(X, Y);
  EXPECT_EQ(A.traffic(0).elements, 4 + 2);  // 6 is there
  EXPECT_EQ(A.traffic(1).elements, 2);      // and 7
  EXPECT_EQ(A.traffic(2).elements, 0);
  const Operator B = adjoint(A);
  EXPECT_EQ(B.traffic(0).elements, 4);
  EXPECT_EQ(B.traffic(1).elements, 2);
  EXPECT_EQ(B.traffic(2).elements, 2);
}

}  // namespace
}  // namespace riesz::testing
