// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Core>

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// The matrix of A: its coordinates are all elements of all local parts in rank order, those of a Replicated
/// axis once. Whole, on all of workers_of(A); of no rows and columns elsewhere. For small spaces:
/// it applies A to every unit vector. Collective over workers_of(A).
Eigen::MatrixXd matrix(const Operator& A);
/// The same of A between complex vectors.
Eigen::MatrixXcd complex_matrix(const Operator& A);

/// Is matrix(adjoint(A)) the transpose of matrix(A), entry by entry; and complex_matrix(adjoint(A)) the
/// conjugate transpose? The message names the first entry that is not. Collective over workers_of(A).
::testing::AssertionResult is_matrix_adjoint(const Operator& A);
::testing::AssertionResult is_complex_matrix_adjoint(const Operator& A);

/// The forms that EXPECT_MATRIX_ADJOINT and EXPECT_COMPLEX_MATRIX_ADJOINT need.
::testing::AssertionResult is_matrix_adjoint_predicate(const char* text, const Operator& A);
::testing::AssertionResult is_complex_matrix_adjoint_predicate(const char* text, const Operator& A);

}  // namespace riesz::testing

/// Expects matrix(adjoint(A)) == matrix(A) transposed.
#define EXPECT_MATRIX_ADJOINT(A) EXPECT_PRED_FORMAT1(::riesz::testing::is_matrix_adjoint_predicate, A)
/// Expects complex_matrix(adjoint(A)) == complex_matrix(A) conjugated and transposed.
#define EXPECT_COMPLEX_MATRIX_ADJOINT(A) \
  EXPECT_PRED_FORMAT1(::riesz::testing::is_complex_matrix_adjoint_predicate, A)
