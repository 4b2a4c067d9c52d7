// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

/// X without terms: where it is Partial, Replicated or Copied.
Space factor_beside(RandomSpaces& random, const Space& X) {
  Space Y(X.partition(), X.shape());
  for (int dim = 0; dim < X.dims(); ++dim) {
    Y = Y.unit(dim, X.unit_of(dim));
    for (Shard shard : X.shards(dim)) {
      shard.terms = false;
      Y = Y.sharded_like(dim, X.partition().axis(shard.axis).name, shard);
    }
  }
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    if (placement == Placement::Copied) Y = Y.copied(axis.name);
    if (placement == Placement::Partial && random.any_of(2) == 0) Y = Y.copied(axis.name);
  }
  return Y;
}

TEST(Arithmetic, IsTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 15; ++i) {
    const Space X = any_lay_out(random, random.shape(random.grid(some_workers(random))));
    const Space Y = factor_beside(random, X);
    const auto expect = [](const std::vector<Space>& spaces, const OnVectors& f, const OnTensors& g) {
      expect_as_global(spaces, f, g, 1e-10);
    };
    expect(
        {X, Y}, [](const Vectors& x) { return x[0] * x[1]; },
        [](const Tensors& x) { return x[0].mul(x[1]); });
    expect(
        {Y, X}, [](const Vectors& x) { return x[0] * x[1]; },
        [](const Tensors& x) { return x[0].mul(x[1]); });
    expect(
        {X, Y}, [](const Vectors& x) { return x[0] / x[1]; },
        [](const Tensors& x) { return x[0].div(x[1]); });
    expect(
        {Y}, [](const Vectors& x) { return x[0] * x[0]; }, [](const Tensors& x) { return x[0].mul(x[0]); });
    expect(
        {X}, [](const Vectors& x) { return -(x[0] * 3) / 7; },
        [](const Tensors& x) { return x[0].mul(-3.0 / 7); });
    expect(
        {X, X}, [](const Vectors& x) { return x[0] - 2 * x[1]; },
        [](const Tensors& x) { return x[0].sub(x[1].mul(2)); });
    expect(
        {Y}, [](const Vectors& x) { return log(exp(x[0]) + square(x[0])); },
        [](const Tensors& x) { return x[0].exp().add(x[0].square()).log(); });
    expect(
        {Y}, [](const Vectors& x) { return sqrt(exp(x[0])) - rsqrt(exp(2 * x[0])) + tanh(x[0]) * abs(x[0]); },
        [](const Tensors& x) {
          return x[0].exp().sqrt().sub(x[0].mul(2).exp().rsqrt()).add(x[0].tanh().mul(x[0].abs()));
        });
    // Terms are rounded each by itself.
    expect_as_global(
        {X}, [](const Vectors& x) { return cast(cast(x[0], at::kFloat), at::kDouble); },
        [](const Tensors& x) { return x[0].mul(1); }, 1e-6);

    const at::Tensor condition = draws(X.shape(), 9).gt(0);
    const auto here = [&] { return distribute(Y, condition); };
    expect(
        {X, X}, [&](const Vectors& x) { return where(here(), x[0], x[1]); },
        [&](const Tensors& x) { return at::where(condition, x[0], x[1]); });
    expect(
        {Y}, [&](const Vectors& x) { return where(here(), x[0], 5); },
        [&](const Tensors& x) { return at::where(condition, x[0], x[0].detach().mul(0).add(5)); });
  }
}

TEST(Arithmetic, OfTermsAndReplicasSendsNothingForward) {
  const Space X = Space(Partition::world(), {3});
  const Chain chain;
  const Vector terms = leaf(X.partial("world"), draws({3}, 1)), factor = leaf(X, draws({3}, 2));

  EXPECT_EQ((terms * factor).space(), X.partial("world"));
  EXPECT_EQ((factor * terms).space(), X.partial("world"));
  EXPECT_EQ((terms / factor).space(), X.partial("world"));
  EXPECT_EQ((factor * factor).space(), X);
}

TEST(Arithmetic, OfTwoTermsIsRefused) {
  const Partition P = Partition::simulated(2);
  const auto vector = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Split halo = Split::covering(4, {{{0, 3}}, {{1, 4}}});
  const Space X(P, {4});
  const Vector x = vector(X), terms = vector(X.partial("world"));
  const Vector overlaps = vector(X.sharded(0, "world", halo, true));

  EXPECT_ERROR(terms * terms, "x * y of two vectors that are Partial on axis world",
               "a product of sums is not the sum of products", "between(X, Y)");
  EXPECT_ERROR(overlaps * overlaps, "with terms where the splits of dim 0 overlap", "between(X, Y)");
  EXPECT_ERROR(x / terms, "x / y: division by y of a vector that is Partial on axis world", "between(X, Y)");
  EXPECT_ERROR(x * vector(X.copied("world")), "on axis world one is Replicated and one Copied",
               "between(X, Y)");
  EXPECT_ERROR(x * vector(X.sharded(0, "world")), "x * y needs two vectors that lie alike", "between(X, Y)");
  EXPECT_ERROR(x * vector(Space(P, {5})), "x * y needs two vectors that lie alike",
               "their shapes differ, [4] and [5], which no between(X, Y) mends");
}

TEST(Arithmetic, SaysWhatWhereAndCastRefuse) {
  const Partition P = Partition::simulated(2);
  const auto vector = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Space X(P, {4});
  const Vector x = vector(X), terms = vector(X.partial("world")), pieces = vector(X.sharded(0, "world"));
  const Vector yes = cast(x, at::kBool);

  EXPECT_ERROR(where(x, x, x), "where: the condition is of Double, and must be of booleans");
  EXPECT_ERROR(where(yes, x, terms), "where needs two vectors of one space", "between(X, Y)");
  EXPECT_ERROR(where(yes, pieces, pieces), "where: the condition must lie as the vectors do",
               "between(X, Y)");
  EXPECT_ERROR(where(distribute(X.partial("world"), yes.local()), x, x),
               "where: the condition of a vector that is Partial");
  EXPECT_ERROR(where(yes, terms, 1), "where, with a number, of a vector that is Partial on axis world");
  EXPECT_ERROR(cast(terms, at::kLong), "cast to integers or truth of a vector that is Partial on axis world");
  EXPECT_EQ(cast(terms, at::kFloat).local().scalar_type(), at::kFloat);
  EXPECT_EQ(cast(x, at::kLong).local().scalar_type(), at::kLong);
}

}  // namespace
}  // namespace riesz::testing
