// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Halos of any width: every worker gets what it needs from who has it, and the adjoint adds every ghost back.
#include "riesz/primitives/moves.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "exchanges.h"
#include "random_spaces.h"
#include "riesz/partition/window.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

Split split_of(const Space& X, int dim) {
  const Shard& shard = X.shards(dim).front();
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  return shard.split ? *shard.split
                     : Split::balanced(n, X.partition().axis(shard.axis).extent);
}

/// What each worker owns of a dim, with so much before and after each interval: clipped, or wrapped around.
Space with_ghosts(const Space& X, int dim, std::int64_t before, std::int64_t after, bool wraps = false) {
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  const Split split = split_of(X, dim);
  std::vector<Intervals> needs;
  for (int worker = 0; worker < split.workers(); ++worker) {
    needs.emplace_back();
    for (const Interval& own : split.held(worker)) {
      const Interval need{own.begin - before, own.end + after};
      if (own.size() == 0 && !wraps) continue;
      if (wraps) {
        for (const Interval& part : periodic(n, need)) needs.back().push_back(part);
      } else {
        needs.back().push_back(intersect({0, n}, need));
      }
    }
  }
  return covering(X, dim, needs);
}

at::Tensor numbered(const Space& X) { return at::arange(1, X.numel() + 1, at::kDouble).view(X.shape()); }

/// One Halo, natural and minimal, that gives every place its number; and its HaloSum of ones counts the
/// places.
void expect_halo(const Space& X, const Space& Y) {
  SCOPED_TRACE("from " + to_string(X) + "\n  to " + to_string(Y));
  expect_natural(X, Y);
  expect_minimal(X, Y);
  const at::NoGradGuard guard;
  const Operator A = between(X, Y);
  const at::Tensor v = numbered(X);
  EXPECT_SAME_BITS(A(distribute(X, v)).local(), distribute(Y, v).local());
  ASSERT_EQ(A.steps().size(), 1u);
  EXPECT_EQ(A.steps().front()->name(), "Halo");
  EXPECT_EQ(adjoint(A).steps().front()->name(), "HaloSum");
  at::Tensor places = at::zeros({X.numel()}, at::kDouble);
  for (int rank = 0; rank < Y.partition().size(); ++rank) {
    if (Y.leader(rank, {Placement::Replicated}) != rank) continue;
    const at::Tensor held = global_indices(Y, rank).view({-1});
    places.index_add_(0, held, at::ones({held.numel()}, at::kDouble));
  }
  const Vector ones(dual(Y), at::ones(Y.local_shape(), at::kDouble));
  EXPECT_SAME_BITS(adjoint(A)(ones).local(), distribute(dual(X), places.view(X.shape())).local());
}

void for_each_input_split(std::int64_t n, int p, const std::function<void(const Split&)>& f) {
  f(Split::balanced(n, p));
  f(Split::zigzag(n, p));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  sizes.back() = n / 2;
  sizes.front() += n - n / 2;
  f(Split::sizes(sizes));
  f(Split::balanced(n, p).rotated(1));
}

TEST(Halo, IsOfAnyWidthOnEitherSide) {
  const Partition P = Partition::world();
  for (const std::int64_t n : {1, 3, 11}) {
    for_each_input_split(n, P.size(), [&](const Split& split) {
      const Space X = Space(P, {n}).sharded(0, "world", split);
      for (const std::int64_t before : {0, 1, 4}) {
        for (const std::int64_t after : {0, 2, 20}) expect_halo(X, with_ghosts(X, 0, before, after));
      }
    });
  }
}

TEST(Halo, WrapsAroundAPeriodicDimAsOftenAsItIsWide) {
  const Partition P = Partition::world();
  for (const std::int64_t n : {1, 3, 7}) {
    for_each_input_split(n, P.size(), [&](const Split& split) {
      const Space X = Space(P, {2, n}).sharded(1, "world", split);
      for (const std::int64_t width : {1, 2, 9}) expect_halo(X, with_ghosts(X, 1, width, width + 1, true));
    });
  }
}

TEST(Halo, BringsCornersInOneRound) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    if (grid.axes().size() != 2) return;
    const Space X = Space(grid, {5, 7}).sharded(0, "a").sharded(1, "b");
    expect_halo(X, with_ghosts(with_ghosts(X, 0, 1, 1), 1, 2, 1));
    expect_halo(X, with_ghosts(with_ghosts(X, 0, 1, 0, true), 1, 0, 6));
    const Space Y = Space(grid, {4, 6}).sharded(1, "a", Split::zigzag(6, grid.extent("a"))).sharded(0, "b");
    expect_halo(Y, with_ghosts(with_ghosts(Y, 0, 1, 2, true), 1, 1, 1));
  });
}

TEST(Halo, GoesAlongOneOfManyDimsAndAxes) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const Space ground(grid, {2, 1, 3, 2, 5, 1});
    for (const Axis& axis : grid.axes()) {
      Space X = ground.sharded(4, axis.name);
      int turn = 0;
      for (const Axis& other : grid.axes()) {
        if (other == axis) continue;
        X = turn++ % 2 == 0 ? X.sharded(2, other.name) : X.copied(other.name);
      }
      expect_natural(X, with_ghosts(X, 4, 2, 1));
      expect_natural(X, with_ghosts(X, 4, 0, 7, true));
    }
  });
}

TEST(Halo, ChangesItsWidth) {
  const Partition P = Partition::world();
  for_each_input_split(9, P.size(), [&](const Split& split) {
    const Space X = Space(P, {9}).sharded(0, "world", split);
    const Space Y = with_ghosts(X, 0, 1, 2);
    for (const Space& Z : {X, with_ghosts(X, 0, 3, 1), with_ghosts(X, 0, 0, 0), with_ghosts(X, 0, 2, 2, true),
                           with_ghosts(X.replicated("world").sharded(0, "world"), 0, 1, 1)}) {
      expect_natural(Y, Z);  // copies to copies, and to pieces
      expect_minimal(Y, Z);
      expect_natural(dual(Y), dual(Z));  // terms to terms
      expect_natural(Y, dual(Z));        // copies to terms
      expect_natural(dual(Y), Z);        // terms to copies
    }
  });
}

TEST(Halo, NarrowedOrUnchangedSendsNothing) {
  const Partition P = Partition::world();
  const Space X = Space(P, {9, 2}).sharded(0, "world");
  const Space wide = with_ghosts(X, 0, 2, 3);

  for (const Space& Y : {X, with_ghosts(X, 0, 1, 3), with_ghosts(X, 0, 0, 0)}) {
    for (int rank = 0; rank < P.size(); ++rank) EXPECT_EQ(between(wide, Y).traffic(rank), Traffic{});
  }
  const at::NoGradGuard guard;
  const Vector x = random_vector(X, 1);
  EXPECT_EQ(between(X, with_ghosts(X, 0, 0, 0))(x).local().data_ptr(), x.local().data_ptr());
  EXPECT_TRUE(between(wide, wide).steps().empty());
}

TEST(Halo, ComesFromAndGoesToEveryOtherPlacement) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const Space X(grid, {5, 3});
    const Space Y = with_ghosts(X.sharded(0, "a"), 0, 1, 2);
    for (const Space& Z :
         {X, X.copied("a"), X.partial("a"), X.sharded(1, "a"), with_ghosts(X.sharded(1, "a"), 1, 1, 0)}) {
      for (const Space& halo : {Y, dual(Y)}) {
        expect_natural(Z, halo);
        expect_natural(halo, Z);
        expect_natural(dual(Z), halo);
      }
    }
  });
}

TEST(Halo, StaysWhereOtherAxesMove) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    if (grid.axes().size() != 2) return;
    for (const bool wraps : {false, true}) {
      const Space X = with_ghosts(Space(grid, {5, 4, 2}).sharded(0, "a"), 0, 1, 2, wraps);
      const std::vector<Space> spaces{X, X.copied("b"), X.partial("b"), X.sharded(1, "b"), X.sharded(2, "b")};
      for (const Space& from : spaces) {
        for (const Space& to : spaces) {
          expect_natural(from, to);
          expect_natural(dual(from), dual(to));
        }
      }
    }
  });
}

TEST(Halo, LeavesADimThatAnotherAxisEnters) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    if (grid.axes().size() != 2) return;
    const Space ground(grid, {6, 2});
    const Space X = with_ghosts(ground.sharded(0, "a"), 0, 1, 1);
    for (const Space& Y :
         {ground.sharded(0, "b"), ground.sharded(0, "b").copied("a"), ground.sharded(0, "b").partial("a"),
          ground.sharded(0, "b").sharded(0, "a"), with_ghosts(ground.sharded(0, "b"), 0, 2, 0)}) {
      for (const Space& halo : {X, X.copied("b"), X.partial("b"), dual(X)}) {
        expect_natural(halo, Y);
        expect_natural(Y, halo);
      }
    }
  });
}

TEST(Halo, GoesBetweenPartitions) {
  const Partition world = Partition::world();
  RandomSpaces random(21);
  for (int i = 0; i < 30; ++i) {
    const Partition P = random.some_of(world);
    const Partition Q = random.some_of(world);
    const Space X = Space(P, {7, 2}).sharded(0, P.axes().front().name, random.split(7, P.size()));
    const Space Y = Space(Q, {7, 2}).sharded(0, Q.axes().front().name, random.covering(7, Q.size()));
    expect_natural(X, Y);
    expect_natural(Y, X);
    expect_natural(X, dual(Y));
    expect_natural(with_ghosts(X, 0, 1, 1), Y);
    expect_minimal(X, Y);
  }
}

TEST(Halo, SaysItsFormAndItsCost) {
  const Partition P = Partition::simulated(3);
  const Space X = Space(P, {9}).sharded(0, "world");
  const Space Y = with_ghosts(X, 0, 1, 4);
  const Operator A = between(X, Y);

  EXPECT_EQ(to_string(A), "Halo over world: Sharded(0) -> Sharded(0)");
  EXPECT_EQ(to_string(adjoint(A)), "HaloSum over world: Sharded(0) -> Sharded(0)");
  // needs: [0,7) [2,9) [5,9); 0 gives 2 to 1, 1 gives 3,4,5 to 0 and 5 to 2, 2 gives 6 to 0 and 6,7,8 to 1
  EXPECT_EQ(A.traffic(0), (Traffic{1, 0, 1}));
  EXPECT_EQ(A.traffic(1), (Traffic{4, 0, 2}));
  EXPECT_EQ(A.traffic(2), (Traffic{4, 0, 2}));
  EXPECT_EQ(adjoint(A).traffic(0), (Traffic{4, 0, 2}));
  EXPECT_EQ(adjoint(A).traffic(1), (Traffic{4, 0, 2}));
  EXPECT_EQ(adjoint(A).traffic(2), (Traffic{1, 0, 1}));
  EXPECT_ERROR(primitives::halo(X.replicated("world"), Y, {0}), "Halo on axis world", "Sharded");
  EXPECT_ERROR(primitives::halo(X, Y, {}), "Halo: no axis to move along");
}

}  // namespace
}  // namespace riesz::testing
