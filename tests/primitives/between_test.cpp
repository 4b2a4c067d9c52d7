// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The natural map keeps the vector meant, and its adjoint is the natural map between the duals.
#include "riesz/primitives/between.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "random_spaces.h"
#include "reference.h"
#include "riesz/comm/counters.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const std::vector<Placement> kAll{Placement::Replicated, Placement::Copied, Placement::Partial};
constexpr std::uint64_t kSeed = 20260;
constexpr int kCases = 60;

bool has_agree(const Operator& A) {
  return std::any_of(A.steps().begin(), A.steps().end(),
                     [](const Step& step) { return step->name() == "Agree"; });
}

bool touches_replicated(const Space& X) {
  for (const Axis& axis : X.partition().axes()) {
    if (X.placement(axis.name) == Placement::Replicated) return true;
  }
  return false;
}

void expect_near(const at::Tensor& a, const at::Tensor& b) {
  const bool near = a.numel() == 0 || a.sub(b).abs().max().item<double>() <= 1e-13;
  EXPECT_TRUE(a.sizes() == b.sizes() && near) << text_of(a) << "\nis not " << text_of(b);
}

void expect_near(double a, double b) { EXPECT_LE(std::abs(a - b), 1e-11) << a << " is not " << b; }

/// A(x) of random equal copies means what x means, with the same bits on all replicas and copies, at the
/// stated cost.
void expect_meaning_kept(const Operator& A) {
  const Space& Y = A.range();
  Counters::instance().reset();

  const Vector y = A(random_vector(A.domain(), 1, true));

  const Traffic counted = Counters::instance().total();
  const Traffic stated = A.traffic(Y.partition().rank());
  EXPECT_EQ(counted, (Traffic{stated.elements, 8 * stated.elements, stated.messages}));
  const std::vector<at::Tensor> parts = all_parts(Y.partition(), y.local());
  EXPECT_TRUE(belongs(Y, parts, true));
  expect_near(meant(Y, parts), meant(A.domain(), random_parts(A.domain(), 1, true)));
}

/// ⟨A x, y⟩ = ⟨x, B y⟩, for any parts or for equal copies.
void expect_law(const Operator& A, const Operator& B, bool equal_copies) {
  const Vector x = random_vector(A.domain(), 2, equal_copies);
  const Vector y = random_vector(dual(A.range()), 3, equal_copies);
  expect_near(pairing(A(x), y), pairing(x, B(y)));
}

void expect_structure(const Space& X, const Space& Y) {
  const Operator A = between(X, Y);
  const Operator B = between(dual(Y), dual(X));
  EXPECT_EQ(adjoint(A), B);
  EXPECT_EQ(adjoint(adjoint(A)), A);
  EXPECT_EQ(dual(dual(X)), X);
  if (touches_replicated(X) || touches_replicated(Y)) return;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    Traffic received;
    for (const Step& step : A.steps()) received += expected_received(*step, rank);
    EXPECT_EQ(adjoint(A).traffic(rank), received);
  }
}

TEST(Between, KeepsTheVectorMeantAndHasItsAdjoint) {
  const at::NoGradGuard guard;
  RandomSpaces random(kSeed);
  for (int i = 0; i < kCases; ++i) {
    const Space ground = random.shape(random.grid(Partition::world()));
    const Space X = random.place(ground, kAll);
    const Space Y = random.place(ground, kAll);
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(i) + "\n  from " +
                 to_string(X) + "\n  to " + to_string(Y));
    const Operator A = between(X, Y);
    const Operator B = between(dual(Y), dual(X));

    expect_structure(X, Y);
    expect_meaning_kept(A);
    expect_law(A, B, false);
    expect_law(A, adjoint(A), true);
    if (has_agree(A)) continue;
    const Vector y = A(random_vector(X, 4, false));  // only Agree needs equal copies
    EXPECT_TRUE(belongs(Y, all_parts(Y.partition(), y.local()), false));
  }
}

TEST(Between, ComposedKeepsTheVectorMeant) {
  const at::NoGradGuard guard;
  RandomSpaces random(kSeed + 1);
  for (int i = 0; i < kCases; ++i) {
    const Space ground = random.shape(random.grid(Partition::world()));
    const Space X = random.place(ground, kAll);
    const Space Y = random.place(ground, kAll);
    const Space Z = random.place(ground, kAll);
    SCOPED_TRACE("seed " + std::to_string(kSeed + 1) + ", case " + std::to_string(i) + "\n  from " +
                 to_string(X) + "\n  over " + to_string(Y) + "\n  to " + to_string(Z));
    const Operator A = between(X, Y);
    const Operator B = between(Y, Z);
    const bool agree = has_agree(A) || has_agree(B) || has_agree(adjoint(A)) || has_agree(adjoint(B));

    expect_meaning_kept(B * A);
    expect_law(B * A, adjoint(A) * adjoint(B), agree);
    EXPECT_EQ(adjoint(B * A), adjoint(A) * adjoint(B));
  }
}

TEST(Between, HasItsStructureOnEveryGridWithoutCommunication) {
  RandomSpaces random(kSeed + 2);
  Counters::instance().reset();
  for (const int workers : {1, 2, 3, 4, 5, 6, 8, 9, 12, 16}) {
    for (int i = 0; i < 40; ++i) {
      const Space ground = random.shape(random.grid(Partition::simulated(workers, random.any_of(workers))));
      const Space X = random.place(ground, kAll);
      const Space Y = random.place(ground, kAll);
      SCOPED_TRACE("seed " + std::to_string(kSeed + 2) + "\n  from " + to_string(X) + "\n  to " +
                   to_string(Y));
      expect_structure(X, Y);
    }
  }
  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(Between, FindsTheStepForEachPairOfPlacements) {
  const Space X(Partition::simulated(4).grid({{"a", 4}}), {8, 4});
  const std::vector<Space> spaces{X.sharded(0, "a"), X.sharded(1, "a"), X, X.copied("a"), X.partial("a")};
  struct Cell {
    std::string step;
    std::int64_t elements;
  };
  const std::vector<std::vector<Cell>> table{
      {{"", 0}, {"AllToAll", 6}, {"AllGather", 24}, {"AllGather", 24}, {"Pad", 0}},
      {{"AllToAll", 6}, {"", 0}, {"AllGather", 24}, {"AllGather", 24}, {"Pad", 0}},
      {{"Slice", 0}, {"Slice", 0}, {"", 0}, {"Copy", 0}, {"Term", 0}},
      {{"Slice", 0}, {"Slice", 0}, {"Agree", 0}, {"", 0}, {"Term", 0}},
      {{"ReduceScatter", 24}, {"ReduceScatter", 24}, {"AllReduce", 48}, {"AllReduce", 48}, {"", 0}},
  };
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    for (std::size_t j = 0; j < spaces.size(); ++j) {
      const Operator A = between(spaces[i], spaces[j]);
      ASSERT_EQ(A.steps().size(), i == j ? 0u : 1u);
      for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(A.traffic(rank).elements, table[i][j].elements);
      if (i == j) continue;
      EXPECT_EQ(A.steps().front()->name(), table[i][j].step);
    }
  }
}

TEST(Between, NeedsNoStepOnAxesOfOneWorker) {
  const Space X(Partition::simulated(2).grid({{"a", 1}, {"b", 2}, {"c", 1}}), {4, 4});

  EXPECT_TRUE(between(X.sharded(0, "a").partial("c"), X.copied("a").sharded(1, "c")).steps().empty());
  EXPECT_TRUE(between(X.sharded(0, "a").sharded(0, "b"), X.sharded(0, "b").sharded(0, "a")).steps().empty());
}

TEST(Between, MovesThatSendNothingGoFirstAndThoseOfAKindTogether) {
  const Space X(Partition::simulated(8).grid({{"a", 2}, {"b", 2}, {"c", 2}}), {4, 4});

  EXPECT_EQ(to_string(between(X.partial("a"), X.sharded(0, "a").sharded(1, "b"))),
            "Slice over b: Replicated -> Sharded(1), ReduceScatter over a: Partial -> Sharded(0)");
  EXPECT_EQ(to_string(between(X.partial("a").partial("c"), X)),
            "AllReduce over a, c: Partial -> Replicated, Partial -> Replicated");
  EXPECT_EQ(to_string(between(X.sharded(0, "a").sharded(0, "b"), X.sharded(0, "b").sharded(0, "a"))),
            "Repartition over a, b: Sharded(0) -> Sharded(0), Sharded(0) -> Sharded(0)");
}

TEST(Between, EntersAndLeavesWithTheSplitsGiven) {
  const Space X(Partition::simulated(4).grid({{"a", 2}, {"b", 2}}), {6});
  const Space Y = X.sharded(0, "a", Split::sizes({5, 1}));

  EXPECT_EQ(to_string(between(X, Y)), "Slice over a: Replicated -> Sharded(0)");
  EXPECT_EQ(to_string(between(X.partial("a"), Y)), "ReduceScatter over a: Partial -> Sharded(0)");
  EXPECT_EQ(to_string(between(Y, X)), "AllGather over a: Sharded(0) -> Replicated");
  EXPECT_EQ(to_string(between(X.sharded(0, "a"), Y)), "Repartition over a: Sharded(0) -> Sharded(0)");
  EXPECT_EQ(between(X.sharded(0, "a"), Y).traffic(2).elements, 2);
}

TEST(Between, RefusesVectorsOfOtherShapes) {
  const Space X(Partition::simulated(4), {8, 4});

  EXPECT_ERROR(between(X, X.with_shape({4, 8})), "no natural map", "(8, 4) on (world=4)",
               "(4, 8) on (world=4)");
  EXPECT_ERROR(between(X, Space(Partition::simulated(4), {32})), "differ in shape or units");
  EXPECT_ERROR(between(X, X.unit(0, 2)), "differ in shape or units");
  const Space any = X.with_shape({Space::any, 4});
  EXPECT_ERROR(between(any, any), "no natural map", "(any, 4)");
}

}  // namespace
}  // namespace riesz::testing
