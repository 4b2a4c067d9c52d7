// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// Expects of A = between(X, Y), on all workers of both partitions:
///   adjoint(A) == between(dual(Y), dual(X)), and that it is adjoint for arbitrary parts, ghosts included
///   the vector meant stays the same, number by number (integers, so that sums are exact)
///   replicas and copies are equal, and x is as it was
///   what is counted is what A states
/// and where the matrix is small, that those of A and A* are transposed. Collective over the job.
void expect_natural(const Space& X, const Space& Y);

/// Expects of A = between(X, Y) that it moves to each worker what it needs in Y and has not in X, element by
/// element of the global indices, from those that have it, in one message from each; and that its adjoint
/// moves the same back. Sharded on all axes at both ends, or on one grid with the others placed alike; copies
/// where splits of Y overlap; where those of X overlap, who sends is not told. Local.
void expect_minimal(const Space& X, const Space& Y);

}  // namespace riesz::testing
