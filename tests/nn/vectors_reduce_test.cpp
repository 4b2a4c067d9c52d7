// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/amax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

std::vector<int> some_dims(RandomSpaces& random, const Space& X) {
  std::vector<int> dims;
  for (int dim = X.dims() - 1; dim >= 0; --dim) {
    if (random.any_of(2) == 0) dims.push_back(random.any_of(2) == 0 ? dim : dim - X.dims());
  }
  return dims.empty() ? std::vector<int>{X.dims() - 1} : dims;
}

/// Does no dim to reduce have copies?
bool counts_once(const Space& X, const std::vector<int>& dims) {
  for (const int dim : dims) {
    if (X.copies(dim < 0 ? dim + X.dims() : dim)) return false;
  }
  return true;
}

std::vector<std::int64_t> positions(const std::vector<int>& dims) { return {dims.begin(), dims.end()}; }

TEST(Reduce, IsTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  int cases = 0;
  while (cases < 25) {
    const Space shape = random.shape(random.grid(some_workers(random)));
    const Space X = any_lay_out(random, shape);
    const std::vector<int> dims = some_dims(random, X);
    if (!counts_once(X, dims) || X.numel() == 0) continue;
    ++cases;
    for (const bool all_reduce : {false, true}) {
      expect_as_global(
          {X}, [&](const Vectors& x) { return sum(x[0], dims, {.all_reduce = all_reduce}); },
          [&](const Tensors& x) { return at::sum(x[0], positions(dims)); });
      expect_as_global(
          {X}, [&](const Vectors& x) { return mean(x[0], dims, {.all_reduce = all_reduce}); },
          [&](const Tensors& x) { return at::mean(x[0], positions(dims)); });
    }
  }
}

/// Half types are summed in fp32, also over workers, and rounded once: of terms of fp16 the sum may be
/// infinite.
TEST(Reduce, RoundsHalfTypesOnce) {
  const Partition world = Partition::world();
  const Space X(world, {140000});
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    for (const Space& S : {X, X.sharded(0, "world")}) {
      const at::Tensor ones = at::ones(S.local_shape(), type);
      const Vector of_ones = mean(Vector(S, ones), {}, {.all_reduce = true});
      EXPECT_EQ(of_ones.local().scalar_type(), type);
      EXPECT_EQ(of_ones.local().item<double>(), 1);
      const at::Tensor third =
          at::full({140000}, 1. / 3, type).index_fill_(0, at::tensor({5}, at::kLong), 7.);
      const Vector x = distribute(S, third);
      const at::Tensor total = at::sum(third.to(at::kDouble)), as_type = total.to(at::kFloat).to(type);
      EXPECT_EQ(sum(x, {}, {.all_reduce = true}).local().item<double>(), as_type.item<double>());
      EXPECT_EQ(mean(x, {}, {.all_reduce = true}).local().item<double>(),
                total.div(140000).to(at::kFloat).to(type).item<double>());
    }
  }
}

/// Terms of fp16 would lose what the second worker has beside 2048; one that stays a term has the type too.
TEST(Reduce, RoundsNoTermOfHalfTypes) {
  const Partition world = Partition::world();
  const std::int64_t n = 2 * world.size();
  const at::Tensor global = at::zeros({std::max<std::int64_t>(n, 3)}, at::kHalf);
  const std::vector<double> first{2048, 0.75, 0.5};
  for (std::int64_t i = 0; i < 3; ++i) global[i] = first[static_cast<std::size_t>(i)];
  const Space S = Space(world, {global.numel()}).sharded(0, "world");
  const Vector x = distribute(S, global);
  EXPECT_EQ(sum(x, {}, {.all_reduce = true}).local().item<double>(), 2050);
  const Vector term = sum(x, {});
  EXPECT_EQ(term.local().scalar_type(), at::kHalf);
  EXPECT_EQ(term.local().item<double>(), at::sum(x.local(), at::kFloat).to(at::kHalf).item<double>());
}

TEST(Reduce, GivesHalfTypesTheirGradients) {
  const Space X = Space(Partition::world(), {24}).sharded(0, "world");
  const Vector x(X, at::ones(X.local_shape(), at::kBFloat16).requires_grad_());
  Chain chain;
  backward(mean(x, {}, {.all_reduce = true}));
  EXPECT_EQ(x.local().grad().scalar_type(), at::kBFloat16);
  EXPECT_TRUE(x.local().grad().eq(at::full({1}, 1. / 24, at::kBFloat16)).all().item<bool>());
}

TEST(Max, IsTorchsAtEveryPlacementWithoutTerms) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  int cases = 0;
  while (cases < 25) {
    const Space shape = random.shape(random.grid(some_workers(random)));
    const Space X = random.lay_out(shape, {Placement::Replicated, Placement::Copied}, false);
    const std::vector<int> dims = some_dims(random, X);
    if (!counts_once(X, dims) || X.numel() == 0) continue;
    ++cases;
    expect_as_global(
        {X}, [&](const Vectors& x) { return max(x[0], dims); },
        [&](const Tensors& x) { return at::amax(x[0], positions(dims)); });
    // Many are equal: they share the gradient, wherever they are.
    const auto coarse = [](const at::Tensor& x) { return x.clamp(-0.5, 0.5); };
    expect_as_global(
        {X}, [&](const Vectors& x) { return max(map("clamp", x[0], coarse), dims); },
        [&](const Tensors& x) { return at::amax(coarse(x[0]), positions(dims)); });
  }
}

TEST(Max, KnowsInfinitiesIntegersAndWhatIsNoNumber) {
  const Space X = Space(Partition::world(), {7}).sharded(0, "world");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto greatest = [&](const at::Tensor& global) { return full_tensor(max(distribute(X, global))); };

  EXPECT_EQ(greatest(at::full({7}, -infinity)).item<double>(), -infinity);
  EXPECT_EQ(greatest(at::full({7}, infinity)).item<double>(), infinity);
  EXPECT_EQ(greatest(at::tensor({-7L, -6L, -5L, -4L, -3L, -2L, -9L})).item<std::int64_t>(), -2);
  const int least = std::numeric_limits<int>::min();
  EXPECT_EQ(greatest(at::full({7}, least, at::kInt)).item<int>(), least);
  at::Tensor one = at::full({7}, 1.0);
  one[6].fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(greatest(one).item<double>()));
}

TEST(Reduce, LeadsWhereTheSpacesSay) {
  const Partition mesh = Partition::simulated(8).grid({{"dp", 2}, {"tp", 2}, {"pp", 2}});
  const Space X = Space(mesh, {4, 6, 8}).sharded(0, "dp").sharded(2, "tp");
  const Vector x = distribute(X, draws({4, 6, 8}, 1));
  const Space rows = Space(mesh, {4, 6}).sharded(0, "dp");

  EXPECT_EQ(sum(x, {2}).space(), rows.partial("tp"));
  EXPECT_EQ(sum(x, {1}).space(), Space(mesh, {4, 8}).sharded(0, "dp").sharded(1, "tp"));
  EXPECT_EQ(mean(x).space(), Space(mesh, {}).partial("dp").partial("tp"));
}

TEST(Reduce, StandsBesideWhatItReduced) {
  const Partition world = Partition::world();
  for (const int dim : {0, 1}) {
    const Space X = Space(world, {5, 7}).sharded(dim, "world");
    expect_as_global(
        {X}, [](const Vectors& x) { return sub(x[0], "bc", mean(x[0], {1}), "b"); },
        [](const Tensors& x) { return x[0].sub(x[0].mean(1, true)); });
  }
}

TEST(Reduce, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const auto vector = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Split halo = Split::covering(4, {{{0, 3}}, {{1, 4}}});
  const Vector x = vector(Space(P, {4, 2}));

  EXPECT_ERROR(sum(x, {2}), "sum: there is no dim 2 in (4, 2)");
  EXPECT_ERROR(mean(x, {1, -1}), "mean: dim 1 is given twice");
  EXPECT_ERROR(sum(vector(Space(P, {4}).sharded(0, "world", halo))), "sum over dim 0, whose split overlaps",
               "count twice", "between(X, Y)");
  EXPECT_ERROR(max(vector(Space(P, {4}).sharded(0, "world", halo))), "max over dim 0, whose split overlaps");
  EXPECT_ERROR(max(vector(Space(P, {4}).partial("world"))), "max of a vector that is Partial on axis world");
  EXPECT_ERROR(max(vector(Space(P, {4, 0})), {1}), "max over no elements");
}

}  // namespace
}  // namespace riesz::testing
