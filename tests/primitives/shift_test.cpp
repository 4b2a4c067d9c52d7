// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Pieces on rotated owners, as a ring of workers hands them on.
#include "riesz/primitives/moves.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exchanges.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

std::vector<Space> spaces_over_a(const Partition& grid) {
  const int p = grid.extent("a");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  for (int worker = 0; worker < p; worker += 2) sizes[static_cast<std::size_t>(worker)] = worker + 1;
  const std::int64_t n = Split::sizes(sizes).extent();
  Space X(grid, {2 * p + 1, 2});
  for (std::size_t a = 1; a < grid.axes().size(); ++a) {
    X = a == 1 ? X.sharded(1, grid.axes()[a].name) : X.copied(grid.axes()[a].name);
  }
  return {X.sharded(0, "a"), X.sharded(0, "a", Split::zigzag(2 * p + 1, p)),
          X.with_shape({n, 3}).sharded(0, "a", Split::sizes(sizes)), X.with_shape({1, 1}).sharded(0, "a")};
}

TEST(Shift, HandsEveryPieceToTheWorkerKFurtherOn) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const int p = grid.extent("a");
    for (const Space& X : spaces_over_a(grid)) {
      for (int k = -p; k <= p; ++k) {
        const Space Y = rotated(X, "a", k);
        SCOPED_TRACE(to_string(X) + " by " + std::to_string(k));
        const std::vector<at::Tensor> parts = random_parts(X, 5, true);
        std::vector<int> from = grid.coordinates(grid.rank());
        from[0] = ((from[0] - k) % p + p) % p;
        const at::NoGradGuard guard;

        const Vector y = between(X, Y)(part_of(X, parts));

        EXPECT_SAME_BITS(y.local(), parts[static_cast<std::size_t>(grid.rank_of(from))]);
      }
    }
  });
}

TEST(Shift, IsNaturalAndMinimal) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    for (const Space& X : spaces_over_a(grid)) {
      for (const int k : {1, 2, -1}) {
        expect_natural(X, rotated(X, "a", k));
        expect_minimal(X, rotated(X, "a", k));
      }
    }
  });
}

TEST(Shift, AroundTheRingComesBack) {
  const at::NoGradGuard guard;
  const Partition P = Partition::world();
  const Space X =
      Space(P, {2 * P.size() + 1}).sharded(0, "world", Split::balanced(2 * P.size() + 1, P.size()));
  const Vector x = random_vector(X, 1);
  Vector y = x;
  for (int hop = 0; hop < P.size(); ++hop) y = between(y.space(), rotated(y.space(), "world", 1))(y);

  EXPECT_EQ(y.space(), X);
  EXPECT_SAME_BITS(y.local(), x.local());
  const Operator there = between(X, rotated(X, "world", 1));
  EXPECT_EQ(adjoint(there), between(rotated(X, "world", 1), X));
}

TEST(Shift, SaysItsFormAndSendsEachPieceOnce) {
  const Space X = Space(Partition::simulated(3), {7}).sharded(0, "world");
  const Operator A = between(X, rotated(X, "world", 1));

  EXPECT_EQ(to_string(A), "Shift over world: Sharded(0) -> Sharded(0)");
  EXPECT_EQ(adjoint(A).steps().front()->name(), "Shift");
  EXPECT_EQ(A.traffic(0), (Traffic{3, 0, 1}));
  EXPECT_EQ(A.traffic(1), (Traffic{2, 0, 1}));
  EXPECT_EQ(adjoint(A).traffic(0), (Traffic{2, 0, 1}));
  EXPECT_EQ(adjoint(A).traffic(1), (Traffic{3, 0, 1}));
  const Space zigzag = Space(Partition::simulated(2), {9}).sharded(0, "world", Split::zigzag(9, 2));
  EXPECT_EQ(between(zigzag, rotated(zigzag, "world", -1)).steps().front()->name(), "Shift");
  EXPECT_EQ(between(zigzag, rotated(zigzag, "world", -1)).traffic(0), (Traffic{5, 0, 1}));
}

TEST(Rotated, NeedsAnAxisThatShardsADimAlone) {
  const Space X(Partition::simulated(4).grid({{"a", 2}, {"b", 2}}), {6, 2});

  EXPECT_ERROR(rotated(X, "a", 1), "axis a shards no dim alone", "(6, 2)");
  EXPECT_ERROR(rotated(X.sharded(0, "a").sharded(0, "b"), "b", 1), "axis b shards no dim alone");
  EXPECT_ERROR(rotated(X, "c", 1), "no axis is named \"c\"");
  EXPECT_EQ(rotated(X.sharded(0, "a"), "a", 1), X.sharded(0, "a", Split::balanced(6, 2).rotated(1)));
}

}  // namespace
}  // namespace riesz::testing
