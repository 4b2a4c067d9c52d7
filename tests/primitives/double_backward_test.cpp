// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Gradients of gradients: the pull-back is differentiable again, in the same chain.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

/// f(x) = Σ_r Σ (M_r x)³ / 6 over the workers r; its gradient is Σ M_rᵀ z_r²/2 and its Hessian Σ M_rᵀ
/// diag(z_r) M_r, with z_r = M_r x. A worker that `drops` leaves its own term out.
struct Cubic {
  Partition P = Partition::world();
  Space X = Space(P, {3});

  at::Tensor matrix(int rank) const {
    return testing::random_part(Space(P, {4, 3}).copied("world"), rank, 11, false);
  }
  at::Tensor point() const { return testing::random_part(X, 0, 12, true); }
  at::Tensor direction() const { return testing::random_part(X, 0, 13, true); }
  bool drops(int rank) const { return rank % 3 == 1; }

  Vector value(const Vector& x) const {
    const at::Tensor copy = between(X, X.copied("world"))(x).local();
    const at::Tensor term =
        drops(P.rank()) ? at::zeros({}, at::kDouble) : matrix(P.rank()).mv(copy).pow(3).sum().div(6);
    const Space scalar(P, {});
    return between(scalar.partial("world"), scalar)({scalar.partial("world"), term});
  }

  at::Tensor gradient() const {
    at::Tensor sum = at::zeros({3}, at::kDouble);
    for (int rank = 0; rank < P.size(); ++rank) {
      if (!drops(rank)) sum.add_(matrix(rank).t().mv(matrix(rank).mv(point()).pow(2).div(2)));
    }
    return sum;
  }

  /// The Hessian times the direction; the third derivative in it twice.
  at::Tensor second() const {
    at::Tensor sum = at::zeros({3}, at::kDouble);
    for (int rank = 0; rank < P.size(); ++rank) {
      const at::Tensor M = matrix(rank);
      if (!drops(rank)) sum.add_(M.t().mv(M.mv(point()).mul(M.mv(direction()))));
    }
    return sum;
  }
  at::Tensor third() const {
    at::Tensor sum = at::zeros({3}, at::kDouble);
    for (int rank = 0; rank < P.size(); ++rank) {
      const at::Tensor M = matrix(rank);
      if (!drops(rank)) sum.add_(M.t().mv(M.mv(direction()).pow(2)));
    }
    return sum;
  }
};

void expect_near(const Vector& found, const at::Tensor& expected) {
  EXPECT_TRUE(found.local().allclose(expected, 1e-12, 1e-12))
      << testing::text_of(found.local()) << "\nis not " << testing::text_of(expected);
}

Vector seed(const Vector& loss) { return {dual(loss.space()), at::ones({}, at::kDouble)}; }

TEST(DoubleBackward, IsTheHessianAlsoWhereAWorkerDropsItsTerm) {
  const Cubic f;
  const Chain chain;
  const Vector x(f.X, f.point().requires_grad_());
  const Vector loss = f.value(x);

  const Vector g = pullback(loss, seed(loss), {x}, true).front();
  EXPECT_EQ(g.space(), dual(f.X));
  expect_near(g, f.gradient());

  backward({Space(f.P, {}), g.local().mul(f.direction()).sum()});
  expect_near(gradient(x), f.second());
}

TEST(DoubleBackward, GoesOnToTheThirdDerivative) {
  const Cubic f;
  const Chain chain;
  const Vector x(f.X, f.point().requires_grad_());
  const Vector loss = f.value(x);
  const Vector g = pullback(loss, seed(loss), {x}, true).front();
  const Vector slope(Space(f.P, {}), g.local().mul(f.direction()).sum());

  const Vector h = pullback(slope, seed(slope), {x}, true).front();
  expect_near(h, f.second());

  backward({Space(f.P, {}), h.local().mul(f.direction()).sum()});
  expect_near(gradient(x), f.third());
}

TEST(DoubleBackward, OfALinearMapGivesTheMapBack) {
  const Partition P = Partition::world();
  const Chain chain;
  const Space X = Space(P, {P.size() + 2, 2}).sharded(0, "world");
  const Space Y = Space(P, {P.size() + 2, 2}).copied("world");
  const Operator A = between(X, Y);
  const Vector x(X, testing::random_vector(X, 1).local().requires_grad_());
  const Vector ybar(dual(Y), testing::random_vector(dual(Y), 2).local().requires_grad_());
  const Vector xbar = pullback(A(x), ybar, {x}, true).front();  // A* ȳ, linear in ȳ

  const Vector v = testing::random_vector(X, 3);
  const Vector back = pullback(xbar, v, {ybar}).front();

  const at::NoGradGuard guard;
  EXPECT_EQ(back.space(), Y);
  EXPECT_SAME_BITS(back.local(), A(v).local());
}

}  // namespace
}  // namespace riesz
