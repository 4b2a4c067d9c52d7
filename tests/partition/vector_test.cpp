// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/vector.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

using testing::random_parts;
using testing::random_vector;

/// Two dims on a grid in four ways: each axis sharded, replicated, copied, partial in turn.
std::vector<Space> spaces_on(const Partition& grid) {
  std::vector<Space> spaces;
  for (int turn = 0; turn < 5; ++turn) {
    Space X(grid, {3, 4});
    for (std::size_t a = 0; a < grid.axes().size(); ++a) {
      const std::string& axis = grid.axes()[a].name;
      const int way = (turn + static_cast<int>(a)) % 5;
      if (way < 2) X = X.sharded(way, axis);
      if (way == 2) X = X.copied(axis);
      if (way == 3) X = X.partial(axis);
    }
    spaces.push_back(X);
  }
  return spaces;
}

TEST(Vector, ChecksTheLocalShape) {
  const Partition P = Partition::simulated(2, 1);
  const Space X = Space(P, {5}).sharded(0, "world");

  EXPECT_NO_THROW(Vector(X, at::zeros({2})));
  EXPECT_ERROR(Vector(X, at::zeros({3})), "has shape [3]", "(5) on (world=2): dim 0 over world gives it [2]");
  EXPECT_ERROR(Vector(X, at::zeros({2, 1})), "has shape [2, 1]");
  EXPECT_ERROR(Vector(X, at::Tensor()), "undefined tensor");
  EXPECT_ERROR(Vector(Space(P, {Space::any}), at::zeros({2})), "no dim of any extent");
}

TEST(Vector, OutsideThePartitionHoldsNothing) {
  const Partition P = Partition::simulated(2, 1).subset({0});

  EXPECT_NO_THROW(Vector(Space(P, {5}), at::zeros({0})));
  EXPECT_ERROR(Vector(Space(P, {5}), at::zeros({5})), "has shape [5]", "gives it [0]");
}

TEST(Vector, SharesItsSlotWithItsCopiesAlone) {
  const Space X(Partition::simulated(1), {2});
  const Vector x(X, at::zeros({2}));
  const Vector before = x;  // before anybody has asked for the slot
  x.kept() = std::make_shared<int>(7);
  const Vector after = before;
  Vector assigned(X, at::zeros({2}));
  assigned = after;
  const Vector moved = std::move(assigned);
  const Vector other(X, x.local());

  for (const Vector* each : {&before, &after, &moved}) EXPECT_EQ(&each->kept(), &x.kept());
  EXPECT_EQ(*std::static_pointer_cast<int>(moved.kept()), 7);
  EXPECT_EQ(other.kept(), nullptr);
  EXPECT_NE(&other.kept(), &x.kept());
}

TEST(Vector, AddsInOneSpace) {
  const Space X = Space(Partition::world(), {5}).sharded(0, "world");
  const Vector x = random_vector(X, 1);
  const Vector y = random_vector(X, 2);

  EXPECT_SAME_BITS((x + y).local(), x.local().add(y.local()));
  EXPECT_SAME_BITS((x - y).local(), x.local().sub(y.local()));
  EXPECT_SAME_BITS((-2.5 * x).local(), x.local().mul(-2.5));
  EXPECT_EQ((x + y).space(), X);
  EXPECT_ERROR(x + random_vector(X.copied("world"), 2), "x + y needs two vectors of one space",
               "dim 0 over world", "world copied", "between(X, Y)");
  EXPECT_ERROR(x - random_vector(X.partial("world"), 2), "x - y needs", "world partial");
  EXPECT_ERROR(x + random_vector(Space(Partition::world(), {1, 5}), 2), "x + y needs",
               "their shapes differ, [5] and [1, 5], which no between(X, Y) mends: reshape one",
               "add(x, \"btc\", b, \"c\")");
  const Space pairs = Space(Partition::world(), {6}).unit(0, 2);
  EXPECT_ERROR(random_vector(pairs, 1) + random_vector(pairs.unit(0, 1), 2),
               "their units differ, which no between(X, Y) mends", "reshape(x, Y)");
}

TEST(Map, ActsOnEachElement) {
  const Space X = Space(Partition::world(), {5}).sharded(0, "world");
  const auto exponential = [](const at::Tensor& t) { return at::exp(t); };
  const Vector x = random_vector(X, 1);

  EXPECT_SAME_BITS(map("exp", x, exponential).local(), x.local().exp());
  EXPECT_NO_THROW(map("exp", random_vector(X.copied("world"), 1), exponential));
  EXPECT_ERROR(map("exp", random_vector(X.partial("world"), 1), exponential),
               "exp of a vector that is Partial on axis world", "reduce it first with between(X, Y)");
  EXPECT_ERROR(map("sum", x, [](const at::Tensor& t) { return t.sum(); }), "has shape []");
}

TEST(Distribute, IsTheElementThatMeansTheTensor) {
  const at::Tensor v = at::arange(12, at::kDouble).add(1).view({3, 4});
  testing::for_each_grid(Partition::world(), [&](const Partition& grid) {
    for (const Space& X : spaces_on(grid)) {
      const std::vector<at::Tensor> parts = testing::all_parts(grid, distribute(X, v).local());
      EXPECT_TRUE(testing::belongs(X, parts, true)) << to_string(X);
      EXPECT_SAME_BITS(testing::meant(X, parts), v) << to_string(X);
      for (int rank = 0; rank < grid.size(); ++rank) {
        if (X.leader(rank, {Placement::Partial}) == rank) continue;
        EXPECT_TRUE(parts[static_cast<std::size_t>(rank)].eq(0).all().item<bool>()) << to_string(X);
      }
    }
  });
}

TEST(Distribute, RefusesOtherShapesAndHoldsNothingOutside) {
  const Space X(Partition::simulated(2, 1).subset({0}), {3});

  EXPECT_EQ(distribute(X, at::zeros({3})).local().numel(), 0);
  EXPECT_ERROR(distribute(X, at::zeros({4})), "distribute: a tensor of shape [4]", "(3) on (subset=1)",
               "which wants one of shape [3]; every worker gives the whole tensor");
  EXPECT_ERROR(distribute(X, at::Tensor()), "distribute: an undefined tensor for (3) on (subset=1)");
  EXPECT_ERROR(distribute(X.with_shape({Space::any}), at::zeros({3})), "distribute: (any) on (subset=1)",
               "give every dim its extent");
}

TEST(Distribute, NeedsNoInfinityTimesZero) {
  const Space X = Space(Partition::world(), {2}).partial("world");

  const Vector x = distribute(X, at::full({2}, std::numeric_limits<double>::infinity()));

  EXPECT_FALSE(x.local().isnan().any().item<bool>());
}

TEST(Pairing, IsTheInnerProductOfTheVectorsMeant) {
  testing::for_each_grid(Partition::world(), [&](const Partition& grid) {
    for (const Space& X : spaces_on(grid)) {
      const at::Tensor v = testing::meant(X, random_parts(X, 1, true));
      const at::Tensor w = testing::meant(dual(X), random_parts(dual(X), 2, true));
      const double expected = v.mul(w).sum().item<double>();

      const double found = pairing(random_vector(X, 1, true), random_vector(dual(X), 2, true));

      EXPECT_NEAR(found, expected, 1e-13 * grid.size() * (1 + std::abs(expected))) << to_string(X);
      const std::vector<at::Tensor> all = collect("testing", grid, at::full({}, found, at::kDouble));
      for (const at::Tensor& theirs : all) EXPECT_EQ(theirs.item<double>(), found);
    }
  });
}

TEST(Pairing, CountsAReplicatedAxisOnceAndCopiesEach) {
  const Partition P = Partition::world();
  const Space X(P, {2});
  const at::Tensor ones = at::full({2}, 1., at::kDouble);

  EXPECT_EQ(pairing({X, ones}, {X, ones}), 2);
  EXPECT_EQ(pairing({X.copied("world"), ones}, {X.partial("world"), ones}), 2 * P.size());
}

TEST(Pairing, IsInDoubleWhateverTheType) {
  const Space X(Partition::world(), {2});
  const at::Tensor x = at::full({2}, 300., at::kHalf);  // 300² is beyond fp16

  EXPECT_EQ(pairing({X, x}, {X, x}), 180000);
}

TEST(Pairing, RefusesSpacesThatAreNotDual) {
  const Space X = Space(Partition::world(), {2}).copied("world");

  EXPECT_ERROR(pairing(random_vector(X, 1), random_vector(X, 1)), "needs dual spaces", "world copied");
}

TEST(Pairing, IsZeroOutsideThePartition) {
  const Partition P = Partition::world();
  const Space X(P.subset({P.size() - 1}), {2});
  const Vector x(X, at::full(X.local_shape(), 1., at::kDouble));

  EXPECT_EQ(pairing(x, x), P.rank() == P.size() - 1 ? 2 : 0);
}

}  // namespace
}  // namespace riesz
