// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Tensors whose conjugate or negative is not yet in their memory, and views of complex ones, are sent as the
// numbers that they stand for; and so are their gradients.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>
#include <gtest/gtest.h>

#include <vector>

#include "moves.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/all_to_all_v.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// The same numbers, in memory as they are.
at::Tensor written_out(const at::Tensor& x) { return x.clone().resolve_conj().resolve_neg().contiguous(); }

/// Elements of X: lazily conjugated, a real part (strided), an imaginary part lazily negated.
std::vector<Vector> lazy_vectors(const Space& X, std::uint64_t seed) {
  const at::Tensor z = random_vector(X, seed, true, at::kComplexDouble).local().conj();
  std::vector<Vector> all{{X, z}, {X, at::real(z)}, {X, at::imag(z)}};
  return all;
}

TEST(LazyTensors, AreWhatTheTestsTakeThemFor) {
  const Vector z = random_vector(Space(Partition::world(), {3}), 1, true, at::kComplexDouble);
  const std::vector<Vector> lazy = lazy_vectors(z.space(), 1);

  EXPECT_TRUE(lazy[0].local().is_conj() && lazy[0].local().is_contiguous());
  EXPECT_FALSE(lazy[1].local().is_contiguous());
  EXPECT_TRUE(lazy[2].local().is_neg());
  EXPECT_TRUE(at::imag(z.local()).abs().min().item<double>() > 0);
}

TEST(LazyTensors, GoThroughEveryPrimitiveAsTheirNumbers) {
  const at::NoGradGuard guard;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for_each_move(grid, Shapes::small, [&](const Step& step) {
      const Operator A = alone(step);
      for (const Vector& x : lazy_vectors(A.domain(), 3)) {
        const at::Tensor expected = written_out(A({A.domain(), written_out(x.local())}).local());

        EXPECT_SAME_BITS(written_out(A(x).local()), expected);
        EXPECT_SAME_BITS(written_out(A.start(x).wait().local()), expected);
        EXPECT_SAME_BITS(written_out(together({A}, {x}).front().local()), expected);
      }
    });
  });
}

TEST(LazyTensors, ComeBackAsGradientsOfEveryPrimitive) {
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    if (grid.axes().size() > 2) return;
    for_each_move(grid, Shapes::small, [&](const Step& step) {
      const Operator A = alone(step);
      for (const Vector& ybar : lazy_vectors(dual(A.range()), 5)) {
        const at::ScalarType type = ybar.local().scalar_type();
        const at::Tensor expected = [&] {
          const at::NoGradGuard guard;
          return written_out(adjoint(A)({dual(A.range()), written_out(ybar.local())}).local());
        }();
        for (const bool halves : {false, true}) {
          const Chain chain;
          const Vector x(A.domain(), random_vector(A.domain(), 7, true, type).local().requires_grad_());
          const Vector y = halves ? A.start(x).wait() : A(x);

          EXPECT_SAME_BITS(written_out(pullback(y, ybar, {x}).front().local()), expected);
        }
      }
    });
  });
}

/// Both sides of an operator in the computation: what comes back is lazy in the middle of backward.
TEST(LazyTensors, AriseWithinBackwardAndAreGradients) {
  const Partition P = Partition::world();
  const Space X(P, {P.size() + 1});
  const Operator A = between(X.sharded(0, "world"), X.copied("world"));
  const Vector z = random_vector(A.domain(), 1, true, at::kComplexDouble);
  const at::Tensor w = random_vector(A.range(), 2, true, at::kComplexDouble).local();
  const auto gradient_of = [&](const at::Tensor& factor) {
    const Chain chain;
    const Vector x(A.domain(), z.local().clone().requires_grad_());
    const Vector y = A(x);
    const Vector loss(Space(P, {}).partial("world"), at::real(y.local().conj().mul(factor)).sum());
    backward(between(loss.space(), Space(P, {}))(loss));
    return written_out(gradient(x).local());
  };

  const at::Tensor expected = [&] {  // of Re conj(y)·w by y: w
    const at::NoGradGuard guard;
    return written_out(between(X.partial("world"), A.domain())({X.partial("world"), w}).local());
  }();

  EXPECT_SAME_BITS(gradient_of(w), expected);
  EXPECT_SAME_BITS(gradient_of(written_out(w.conj()).conj()), expected);
}

TEST(LazyTensors, EnterEveryOtherCallAsTheirNumbers) {
  const Partition P = Partition::world();
  const Space X(P, {3});
  const std::vector<std::string> axes{"world"};
  const Vector z = random_vector(X.copied("world"), P.rank() + 1, false, at::kComplexDouble);
  const at::Tensor lazy = z.local().conj();
  const at::Tensor negative = at::imag(lazy);

  EXPECT_SAME_BITS(all_max(P, axes, negative), all_max(P, axes, written_out(negative)));
  for (const at::Tensor& x : {lazy, negative}) {
    const std::vector<at::Tensor> pieces(static_cast<std::size_t>(P.size()), x);
    const std::vector<at::Tensor> arrived = all_to_all_v(P, axes, pieces);
    const std::vector<at::Tensor> collected = collect("testing", P, x);
    const std::vector<at::Tensor> expected = collect("testing", P, written_out(x));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_SAME_BITS(written_out(arrived[i]), expected[i]);
      EXPECT_SAME_BITS(written_out(collected[i]), expected[i]);
    }
  }
  const Vector y = random_vector(X.partial("world"), 9, false, at::kComplexDouble);
  EXPECT_EQ(complex_pairing({X.copied("world"), lazy}, y),
            complex_pairing({X.copied("world"), written_out(lazy)}, y));
  const at::Tensor global = at::complex(at::arange(4, at::kDouble), at::arange(4, at::kDouble)).conj();
  EXPECT_SAME_BITS(distribute(X.sharded(0, "world"), global.narrow(0, 0, 3)).local(),
                   distribute(X.sharded(0, "world"), written_out(global.narrow(0, 0, 3))).local());
}

}  // namespace
}  // namespace riesz::testing
