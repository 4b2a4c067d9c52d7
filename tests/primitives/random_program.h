// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

#include "random_spaces.h"
#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// Calls `f` with the seeds 1 … `count`; where the environment has RIESZ_SEED, with that one only. A failure,
/// or an exception, says how it is replayed.
void for_each_seed(int count, const std::function<void(std::uint64_t)>& f);

/// A shape for the spaces of one program: small ones of a few elements, else up to three dims.
Space random_ground(RandomSpaces& random, bool small);

/// The next space of a program: on the partition of the last, or on any grid of any workers of the job; with
/// axes placed as any of `kinds`, dims split in any way.
Space next_space(RandomSpaces& random, const Space& last, const std::vector<Placement>& kinds, bool terms);

/// Natural maps, one after another, between spaces of all kinds; 2 to 12 where no number is given.
std::vector<Operator> random_program(RandomSpaces& random, bool small, int number = 0);

/// All of them as one operator.
Operator composed(const std::vector<Operator>& moves);

/// Does it or its adjoint take copies to be equal?
bool needs_equal_copies(const Operator& A);

/// Σ over all workers of the job, in rank order, the same on all.
double sum_of_all(double mine);

/// This worker's part of ⟨x, y⟩: a Replicated axis counts once, outsiders not at all.
double my_pairing(const Vector& x, const at::Tensor& y);

/// The matrix of A, on all workers of the job, whichever take part in it: coordinates are all local elements
/// by rank, those of a Replicated axis once. Collective over the job.
Eigen::MatrixXd matrix_of(const Operator& A);

}  // namespace riesz::testing
