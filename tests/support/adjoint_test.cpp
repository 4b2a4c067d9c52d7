// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/adjoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "riesz/comm/consistency_checks.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/matrix.h"
#include "riesz/testing/wrong_operators.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

TEST(Adjoint, HoldsForRightOperators) {
  const Partition P = Partition::world();
  const Space X(P, {5, 3});

  EXPECT_ADJOINT(between(X.sharded(0, "world"), X.copied("world")));
  EXPECT_ADJOINT(between(X.partial("world"), X));
  EXPECT_ADJOINT(between(X.copied("world"), X));
  EXPECT_ADJOINT(Operator::identity(X));
}

/// Copies that differ are no vector: an operator that compares its input refuses them.
TEST(Adjoint, HoldsWhereOperatorsCompareTheirInputs) {
  const Partition world = Partition::world();
  if (world.size() % 2 != 0 || world.size() == 2) return;
  const Space X = Space(world.grid({{"a", 2}, {"b", world.size() / 2}}), {5, 3}).copied("b");
  const bool before = consistency_checks();
  set_consistency_checks(true);
  EXPECT_ADJOINT(between(X.sharded(0, "a"), X.sharded(1, "a")));
  EXPECT_ADJOINT(between(X.sharded(1, "a"), X.copied("a")));
  set_consistency_checks(before);
}

TEST(Adjoint, OfAMeanIsScaledByTheNumberOfWorkers) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_adjoint(mean_for_sum(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  const std::string p = std::to_string(P.size());
  EXPECT_THAT(result.message(), HasSubstr("ratio " + p + ": A* y is " + p + " times too small"));
  EXPECT_THAT(result.message(), HasSubstr("<A x, y> = "));
  EXPECT_THAT(result.message(), HasSubstr("<x, A* y> = "));
}

TEST(Adjoint, ThatDropsTheOthersCopiesFails) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_adjoint(copies_not_added(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("ratio "));
  EXPECT_THAT(result.message(), HasSubstr("a part is missing"));
}

TEST(Adjoint, WithTransposedRanksFails) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_adjoint(ranks_reversed(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("ratio "));
}

TEST(Adjoint, OfTheAdjointMustBeTheOperator) {
  const ::testing::AssertionResult result = is_adjoint(adjoint_of_adjoint_differs(Partition::world()));

  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("A** is not A: it is Copy over world"));
}

TEST(Adjoint, FailureNamesTheOperatorAndItsSpaces) {
  const Partition P = Partition::world();
  if (P.size() == 1) return;

  const std::string message = is_adjoint_predicate("my_operator", mean_for_sum(P)).message();

  EXPECT_THAT(message, HasSubstr("the adjoint of my_operator is wrong"));
  EXPECT_THAT(message, HasSubstr("A is Copy over world"));
  EXPECT_THAT(message, HasSubstr("world copied"));
}

TEST(Adjoint, AndMatrixReachTheWorkersOnTheWay) {
  const Partition world = Partition::world();
  const Space X(world.subset({0}), {3});
  const Space Z(world.subset({world.size() - 1}), {3});
  const Operator there_and_back = between(Z, X) * between(X, Z);

  EXPECT_ADJOINT(there_and_back);
  EXPECT_MATRIX_ADJOINT(there_and_back);
  EXPECT_EQ(workers_of(there_and_back).size(), world.size() > 1 ? 2 : 1);
}

TEST(Adjoint, IsTrueOutsideBothPartitions) {
  const Partition first = Partition::world().subset({0});

  EXPECT_ADJOINT(between(Space(first, {3}), Space(first, {3}).copied("subset")));
}

}  // namespace
}  // namespace riesz::testing
