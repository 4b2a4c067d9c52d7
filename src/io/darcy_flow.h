// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

/// Draws the coefficients a of the Darcy-flow benchmark of Li et al. (2010.08895, section 5.2), from which an
/// operator a → u is learnt. `darcy_solutions` solves for u:
///
///     −∇·(a ∇u) = 1 in the unit square, u = 0 on its boundary
///
/// The coefficient a is 12 where a Gaussian field is above 0, and 3 elsewhere. The field has the covariance
/// (−Δ + 9)⁻² with zero slope on the boundary. It is drawn by (seed, number of the example), so examples are
/// the same on every worker, however they are cut into batches.
class DarcyFlow {
 public:
  /// On n × n grid points, the centres of the cells of the unit square. @throws Error unless n is at least 2.
  DarcyFlow(std::int64_t n, std::uint64_t seed);

  std::int64_t size() const { return n_; }
  /// The coefficients of `count` examples from number `first` on: (count, n, n), fp64, on the CPU.
  at::Tensor coefficients(std::int64_t first, std::int64_t count) const;

 private:
  std::int64_t n_;
  std::uint64_t key_;
  at::Tensor cosines_;     // (waves, grid points of a line)
  at::Tensor deviations_;  // of each pair of waves
};

/// u at the grid points, (count, n, n), for coefficients of this shape. Cell-centred finite volumes (five
/// points) with the harmonic mean of a at a face. Solved by conjugate gradients until the residual is 1e-10
/// of the right side. Local; the same bits on every worker.
/// @throws Error unless all coefficients are above 0; or where there is no such residual after 10·n² steps.
at::Tensor darcy_solutions(const at::Tensor& coefficients);

/// (count, 3, n, n): the coefficients, and the two coordinates of each grid point, in (0, 1).
at::Tensor with_coordinates(const at::Tensor& coefficients);

// Inputs and targets of a model, of about unit size.

/// (count, 3, n, n): (a − 7.5)/4.5, which is ±1, and the coordinates of the grid points.
at::Tensor darcy_inputs(const at::Tensor& coefficients);
/// (count, 1, n, n): 100·u. Cost: solves every example.
at::Tensor darcy_targets(const at::Tensor& coefficients);

}  // namespace riesz
