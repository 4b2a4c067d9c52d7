// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "riesz/primitives/between.h"
#include "riesz/testing/wrong_operators.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

TEST(Matrix, OfCopyIsIdentitiesOnTopOfEachOther) {
  const Partition P = Partition::world();
  const Space X(P, {2});

  const Eigen::MatrixXd M = matrix(between(X, X.copied("world")));

  EXPECT_EQ(M, Eigen::MatrixXd::Identity(2, 2).replicate(P.size(), 1));
}

TEST(Matrix, OfAllReduceAddsTheTerms) {
  const Partition P = Partition::world();
  const Space X(P, {2});

  EXPECT_EQ(matrix(between(X.partial("world"), X)), Eigen::MatrixXd::Identity(2, 2).replicate(1, P.size()));
}

TEST(Matrix, OfAllGatherToReplicatedIsTheIdentity) {
  const Space X(Partition::world(), {5});

  EXPECT_EQ(matrix(between(X.sharded(0, "world"), X)), Eigen::MatrixXd::Identity(5, 5));
}

TEST(Matrix, OfBroadcastIsKnownToAllOfBothPartitions) {
  const Partition P = Partition::world();
  const Partition root = P.subset({P.size() - 1});
  const Space X(root, {2});
  const Eigen::MatrixXd M = matrix(between(X, Space(P, {2}).copied("world")));

  EXPECT_EQ(M, Eigen::MatrixXd::Identity(2, 2).replicate(P.size(), 1));
}

TEST(Matrix, HasNoCoordinatesOutsideBothPartitions) {
  const Partition P = Partition::world();
  const Space X(P.subset({0}), {2});

  const Eigen::MatrixXd M = matrix(Operator::identity(X));

  EXPECT_EQ(M.rows(), P.rank() == 0 ? 2 : 0);
  EXPECT_MATRIX_ADJOINT(Operator::identity(X));
}

TEST(Matrix, OfTheAdjointIsTheTranspose) {
  const Space X(Partition::world(), {3, 2});

  EXPECT_MATRIX_ADJOINT(between(X.sharded(0, "world"), X.copied("world")));
  EXPECT_MATRIX_ADJOINT(between(X.copied("world"), X.partial("world")));
}

TEST(Matrix, SeesAScaledAdjointByItsRatio) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_matrix_adjoint(mean_for_sum(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("ratio " + std::to_string(P.size())));
}

TEST(Matrix, SeesACopyThatIsNotAdded) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_matrix_adjoint(copies_not_added(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("from element 0 of worker 1 to element 6 of worker 0"));
  EXPECT_THAT(result.message(), HasSubstr("A has 1, A* has back 0, ratio inf"));
}

TEST(Matrix, SeesTransposedRanks) {
  const Partition P = Partition::world();

  const ::testing::AssertionResult result = is_matrix_adjoint(ranks_reversed(P));

  ASSERT_EQ(result, P.size() == 1);
  if (P.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("ratio "));
}

}  // namespace
}  // namespace riesz::testing
