// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

/// Solutions of Darcy flow, to learn the operator a → u from (Li et al., 2010.08895, section 5.2):
///
///     −∇·(a ∇u) = 1 in the unit square, u = 0 on its boundary
///
/// The coefficient a is 12 where a Gaussian field is above 0, and 3 elsewhere. The field has the covariance
/// (−Δ + 9)⁻² with zero slope on the boundary. It is drawn by (seed, number of the row), so rows are the same
/// on every worker, however they are cut into batches.
class DarcyFlow {
 public:
  /// On n × n cells. @throws Error unless n is at least 2.
  DarcyFlow(std::int64_t n, std::uint64_t seed);

  std::int64_t cells() const { return n_; }
  /// The coefficients of `rows` rows from number `first` on: (rows, n, n), fp64, on the CPU.
  at::Tensor coefficients(std::int64_t first, std::int64_t rows) const;

 private:
  std::int64_t n_;
  std::uint64_t key_;
  at::Tensor cosines_;     // (waves, cells)
  at::Tensor deviations_;  // of each pair of waves
};

/// u for the coefficients of `DarcyFlow`, (rows, n, n), at the cells' centres. Finite volumes of second
/// order, with the harmonic mean of a at a face, solved by conjugate gradients to a residual of 1e-10 of the
/// right side. Local; the same bits on every worker.
/// @throws Error unless all coefficients are above 0.
at::Tensor darcy_solutions(const at::Tensor& coefficients);

/// (rows, 3, n, n): the coefficients, and the coordinates of the cells' centres, row and column, as a Fourier
/// neural operator is given them.
at::Tensor with_coordinates(const at::Tensor& coefficients);

// What a model is given of such coefficients, and what it is to find: of about unit size.

/// (rows, 3, n, n): coefficients and coordinates.
at::Tensor darcy_inputs(const at::Tensor& coefficients);
/// (rows, 1, n, n): solutions, times 100.
at::Tensor darcy_targets(const at::Tensor& coefficients);

}  // namespace riesz
