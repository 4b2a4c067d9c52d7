// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// The workers over which a call of A is collective: those of its spaces' partitions and of those on the way.
Partition workers_of(const Operator& A);

/// Is adjoint(A) the adjoint of A: Y* → X*? In fp64, with random parts, on every worker of both partitions
/// alike. Copied parts are arbitrary unless an Agree is among the steps. With RIESZ_CHECK=1 copies are
/// equal, for the operators check their inputs.
///
///   - domain and range of the adjoint are the duals; each step of A is its adjoint's adjoint;
///   - |⟨A x, y⟩ − ⟨x, A* y⟩| ≤ 1e-12·‖A x‖·‖y‖, and the message gives the ratio of the two sides;
///   - the recorded pull-back of y is A* y, bit for bit.
///
/// Collective over workers_of(A); true elsewhere.
/// In complex128 if `type` says so: then ⟨x, y⟩ = Σ conj(x)·y.
::testing::AssertionResult is_adjoint(const Operator& A, std::uint64_t seed = 1,
                                      at::ScalarType type = at::kDouble);

/// The forms that EXPECT_ADJOINT and EXPECT_COMPLEX_ADJOINT need.
::testing::AssertionResult is_adjoint_predicate(const char* text, const Operator& A);
::testing::AssertionResult is_complex_adjoint_predicate(const char* text, const Operator& A);

}  // namespace riesz::testing

/// Expects the laws of an operator and its adjoint, of a composition of anyone's primitives.
#define EXPECT_ADJOINT(A) EXPECT_PRED_FORMAT1(::riesz::testing::is_adjoint_predicate, A)
/// The same of complex vectors.
#define EXPECT_COMPLEX_ADJOINT(A) EXPECT_PRED_FORMAT1(::riesz::testing::is_complex_adjoint_predicate, A)
