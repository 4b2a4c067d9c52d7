// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/darcy_flow.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The equation's matrix on n x n cells, face by face.
at::Tensor dense_matrix(const at::Tensor& a) {
  const std::int64_t n = a.size(0);
  const at::Tensor A = at::zeros({n * n, n * n}, at::kDouble);
  auto entry = A.accessor<double, 2>();
  const auto value = a.accessor<double, 2>();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (const auto& [di, dj] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const std::int64_t k = i + di, l = j + dj;
        const bool inside = k >= 0 && k < n && l >= 0 && l < n;
        const double here = value[i][j];
        const double pull = inside ? 2 / (1 / here + 1 / value[k][l]) : 2 * here;
        entry[i * n + j][i * n + j] += pull;
        if (inside) entry[i * n + j][k * n + l] -= pull;
      }
    }
  }
  return A;
}

TEST(DarcyFlow, IsSolvedAsItsMatrixSays) {
  const DarcyFlow flow(7, 3);
  const at::Tensor a = flow.coefficients(5, 2), u = darcy_solutions(a);
  for (std::int64_t row = 0; row < 2; ++row) {
    const at::Tensor exact =
        at::linalg_solve(dense_matrix(a[row]), at::full({49, 1}, 1.0 / 49, at::kDouble)).view({7, 7});
    EXPECT_LE(u[row].sub(exact).abs().max().item<double>(), 1e-9 * exact.max().item<double>());
  }
  EXPECT_ERROR(darcy_solutions(a.mul(-1)), "a coefficient that is not above 0");
}

TEST(DarcyFlow, AnUnconvergedSolutionIsAnError) {
  const at::Tensor a = DarcyFlow(8, 3).coefficients(0, 2);
  const at::Tensor far = a.eq(12).to(at::kDouble).mul(1e200).add(1e-200);
  const at::Tensor none = at::full({1, 8, 8}, kInfinite, at::kDouble);
  EXPECT_ERROR(darcy_solutions(far), "darcy_solutions: conjugate gradients do not converge in 640 steps");
  EXPECT_ERROR(darcy_solutions(none), "darcy_solutions: conjugate gradients do not converge in 640 steps");
}

/// Of a constant coefficient: −Δu = 1 has the greatest value 0.0736713… in the middle.
TEST(DarcyFlow, ConvergesToTheSolution) {
  const auto middle = [](std::int64_t n) {
    return darcy_solutions(at::full({1, n, n}, 1, at::kDouble))[0][n / 2][n / 2].item<double>();
  };
  EXPECT_NEAR(middle(9), 0.0736713, 2e-3);
  EXPECT_NEAR(middle(33), 0.0736713, 2e-4);
}

/// Of 20,000 fields with that covariance on 16 x 16 cells, 8 of 100 have one sign.
TEST(DarcyFlow, HasTheCovarianceThatIsSaid) {
  const at::Tensor high = DarcyFlow(16, 1).coefficients(0, 1000).eq(12).to(at::kDouble).mean({1, 2});
  const double constant = high.eq(0).logical_or(high.eq(1)).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(constant, 0.082, 0.03);
}

TEST(DarcyFlow, DrawsARowByItsNumber) {
  const DarcyFlow flow(8, 3);
  const at::Tensor all = flow.coefficients(0, 6);
  EXPECT_TRUE(at::equal(flow.coefficients(4, 2), all.narrow(0, 4, 2)));
  EXPECT_FALSE(at::equal(DarcyFlow(8, 4).coefficients(0, 6), all));
  EXPECT_TRUE(all.eq(12).logical_or(all.eq(3)).all().item<bool>());
  EXPECT_TRUE(all.eq(12).any().item<bool>() && all.eq(3).any().item<bool>());
  const at::Tensor inputs = with_coordinates(all);
  EXPECT_EQ(inputs.sizes(), at::IntArrayRef({6, 3, 8, 8}));
  EXPECT_EQ(inputs[2][1][6][1].item<double>(), 6.5 / 8);
  EXPECT_EQ(inputs[2][2][6][1].item<double>(), 1.5 / 8);
  EXPECT_ERROR(DarcyFlow(1, 0), "DarcyFlow: 1 x 1 grid points");
}

}  // namespace
}  // namespace riesz::testing
