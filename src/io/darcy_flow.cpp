// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/darcy_flow.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

constexpr double kHigh = 12, kLow = 3, kTau2 = 9, kPi = 3.14159265358979323846;

using Cells = std::vector<double>;

at::Tensor centres(std::int64_t n) { return at::arange(n, at::kDouble).add(0.5).div(static_cast<double>(n)); }

/// The matrix of n × n cells: how strongly neighbours pull at each other, and cells at the boundary.
class DarcyMatrix {
 public:
  DarcyMatrix(std::int64_t n, const double* a) : n_(n), below_(cells()), right_(cells()), own_(cells()) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::size_t here = at(i, j);
        if (i + 1 < n) join(below_[here], a[here], a[at(i + 1, j)], here, at(i + 1, j));
        if (j + 1 < n) join(right_[here], a[here], a[at(i, j + 1)], here, at(i, j + 1));
        const int sides = (i == 0) + (i + 1 == n) + (j == 0) + (j + 1 == n);
        own_[here] += 2 * sides * a[here];  // the boundary is half a cell away
      }
    }
  }

  std::size_t cells() const { return static_cast<std::size_t>(n_ * n_); }

  Cells times(const Cells& u) const {
    Cells y(cells());
    for (std::size_t k = 0; k < cells(); ++k) y[k] = own_[k] * u[k];
    const auto row = static_cast<std::size_t>(n_);
    for (std::size_t k = 0; k < cells(); ++k) {
      if (right_[k] != 0) y[k] -= right_[k] * u[k + 1], y[k + 1] -= right_[k] * u[k];
      if (below_[k] != 0) y[k] -= below_[k] * u[k + row], y[k + row] -= below_[k] * u[k];
    }
    return y;
  }

 private:
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * n_ + j); }

  /// By the harmonic mean of both.
  void join(double& face, double a, double b, std::size_t here, std::size_t there) {
    face = 2 * a * b / (a + b);
    own_[here] += face, own_[there] += face;
  }

  std::int64_t n_;
  Cells below_, right_, own_;
};

double inner_product(const Cells& x, const Cells& y) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  return sum;
}

void add_times(Cells& x, double c, const Cells& y) {
  for (std::size_t k = 0; k < x.size(); ++k) x[k] += c * y[k];
}

/// By conjugate gradients (Hestenes and Stiefel, 1952).
Cells solved(const DarcyMatrix& A, const Cells& right) {
  constexpr double kResidual = 1e-10;
  Cells u(right.size()), residual = right, direction = right;
  const double first = inner_product(right, right);
  double size = first;
  const auto converged = [&] { return size <= kResidual * kResidual * first; };  // not by a NaN
  const std::size_t most = 10 * right.size();
  for (std::size_t step = 0; step < most && !converged(); ++step) {
    const Cells pulled = A.times(direction);
    const double along = size / inner_product(direction, pulled);
    add_times(u, along, direction), add_times(residual, -along, pulled);
    const double now = inner_product(residual, residual);
    for (std::size_t k = 0; k < u.size(); ++k) direction[k] = residual[k] + now / size * direction[k];
    size = now;
  }
  RIESZ_CHECK(converged(), "darcy_solutions: conjugate gradients do not converge in ", most,
              " steps; give coefficients that differ less from one another");
  return u;
}

}  // namespace

DarcyFlow::DarcyFlow(std::int64_t n, std::uint64_t seed) : n_(n), key_(philox_key(seed, "Darcy flow")) {
  RIESZ_CHECK(n >= 2, "DarcyFlow: ", n, " x ", n, " grid points; there are at least 2 x 2");
  const at::Tensor waves = at::arange(n, at::kDouble);
  const at::Tensor lengths = waves.gt(0).to(at::kDouble).add(1).sqrt();  // √2·cos(kπs) has the norm 1
  cosines_ = waves.mul(kPi).unsqueeze(1).mul(centres(n)).cos().mul(lengths.unsqueeze(1));
  const at::Tensor squares = waves.square().mul(kPi * kPi);
  deviations_ = squares.unsqueeze(1).add(squares).add(kTau2).reciprocal();
}

at::Tensor DarcyFlow::coefficients(std::int64_t first, std::int64_t count) const {
  const std::int64_t each = n_ * n_;
  const at::Tensor draws = normal({{first * each, (first + count) * each}}, key_).view({count, n_, n_});
  const at::Tensor field = at::matmul(at::matmul(cosines_.t(), draws.mul(deviations_)), cosines_);
  return at::where(field.gt(0), kHigh, kLow).to(at::kDouble);
}

at::Tensor darcy_solutions(const at::Tensor& coefficients) {
  const at::Tensor a = coefficients.to(at::kDouble).contiguous();
  RIESZ_CHECK(a.gt(0).all().item<bool>(), "darcy_solutions: a coefficient that is not above 0");
  const std::int64_t n = a.size(-1), each = n * n;
  const at::Tensor u = at::empty_like(a);
  const Cells right(static_cast<std::size_t>(each), 1.0 / static_cast<double>(each));
  for (std::int64_t row = 0; row < a.size(0); ++row) {
    const Cells solution = solved(DarcyMatrix(n, a.const_data_ptr<double>() + row * each), right);
    std::copy(solution.begin(), solution.end(), u.mutable_data_ptr<double>() + row * each);
  }
  return u;
}

at::Tensor with_coordinates(const at::Tensor& coefficients) {
  const at::Tensor at_centres = centres(coefficients.size(-1)).to(coefficients.scalar_type());
  return at::stack(
      {coefficients, at_centres.unsqueeze(1).expand_as(coefficients), at_centres.expand_as(coefficients)}, 1);
}

at::Tensor darcy_inputs(const at::Tensor& coefficients) {
  constexpr double kMiddle = (kHigh + kLow) / 2, kHalf = (kHigh - kLow) / 2;
  return with_coordinates(coefficients.sub(kMiddle).div(kHalf));
}

at::Tensor darcy_targets(const at::Tensor& coefficients) {
  return darcy_solutions(coefficients).mul(100).unsqueeze(1);
}

}  // namespace riesz
