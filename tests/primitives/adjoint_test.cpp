// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every primitive's adjoint is its adjoint: by the pairing, by the matrix, by autograd.
#include "riesz/testing/adjoint.h"

#include <gtest/gtest.h>

#include <complex>

#include "moves.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/custom_primitive.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/matrix.h"

namespace riesz::testing {
namespace {

TEST(Primitives, HaveAdjointsOnEveryGrid) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    for_each_move(grid, Shapes::all, [](const Step& step) { EXPECT_ADJOINT(alone(step)); });
  });
}

TEST(Primitives, HaveTransposedMatrices) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    if (grid.axes().size() > 2) return;
    for_each_move(grid, Shapes::small, [](const Step& step) { EXPECT_MATRIX_ADJOINT(alone(step)); });
  });
}

TEST(Primitives, HaveAdjointsOfComplexVectorsAndTheirGradients) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    if (grid.axes().size() > 2) return;
    for_each_move(grid, Shapes::small, [](const Step& step) { EXPECT_COMPLEX_ADJOINT(alone(step)); });
  });
}

/// Times a complex number, which is not its own adjoint: z ȳ where another would say conj(z) ȳ.
Step turn(const Space& X, c10::complex<double> z) {
  return custom(
      "Turn", X, X, [z](const at::Tensor& x) { return x.mul(z); },
      [X, z] { return turn(dual(X), std::conj(z)); });
}

TEST(Primitives, AreComposedWithComplexOperatorsToConjugateTransposes) {
  const Partition P = Partition::world();
  const c10::complex<double> z(0.5, -2);
  const Space S(P, {P.size() + 1});
  const Space X = S.sharded(0, "world");
  for (const Space& Y : {S.copied("world"), S, X, S.partial("world")}) {
    const Operator A = between(X, Y) * Operator(X, X, {turn(X, z)});

    EXPECT_COMPLEX_ADJOINT(A);
    EXPECT_COMPLEX_MATRIX_ADJOINT(A);
  }
  EXPECT_EQ(complex_matrix(Operator(X, X, {turn(X, z)})),
            Eigen::MatrixXcd::Identity(P.size() + 1, P.size() + 1) * std::complex<double>(z));
  const Step wrong = custom(
      "Turn", X, X, [z](const at::Tensor& x) { return x.mul(z); }, [X, z] { return turn(dual(X), z); });
  EXPECT_FALSE(is_complex_matrix_adjoint(Operator(X, X, {wrong})));
}

}  // namespace
}  // namespace riesz::testing
