// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;
using Shape = std::vector<std::int64_t>;

Space any_space(RandomSpaces& random) {
  return any_lay_out(random, random.shape(random.grid(some_workers(random))));
}

/// Does more than one axis of several workers, or that overlaps, shard the dim?
bool nested(const Space& X, int dim) {
  return std::count_if(X.shards(dim).begin(), X.shards(dim).end(),
                       [&](const Shard& s) { return X.counts(s.axis); }) > 1;
}

TEST(Permute, IsTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 10; ++i) {
    const Space X = any_lay_out(random, Space(random.grid(some_workers(random)), {4, 3, 5}));
    expect_as_global(
        {X}, [](const Vectors& x) { return permute(x[0], "btc->cbt"); },
        [](const Tensors& x) {
          return x[0].permute({2, 0, 1});
        });
  }
}

TEST(Reshape, JoinsAndTakesApartWholeRowsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 25; ++i) {
    const Space X = any_space(random);
    const std::int64_t rows = 1 + random.any_of(3);
    const Space Y =
        any_lay_out(random, Space(X.partition(), {X.shape()[0] * rows, 6}).unit(0, X.unit_of(0) * rows));
    const Shape apart{X.shape()[0], rows, 6};
    const Shape joined{X.shape()[0] * rows, 3, 2};
    expect_as_global(
        {Y},
        [&](const Vectors& x) {
          return unflatten(x[0], 0, {X.shape()[0], rows});
        },
        [&](const Tensors& x) { return x[0].reshape(apart); });
    if (!Y.shards(1).empty()) continue;  // 6 of units of 1 are no whole rows
    expect_as_global(
        {Y}, [&](const Vectors& x) { return flatten(reshape(x[0], apart), 0, -2); },
        [&](const Tensors& x) { return x[0].mul(1); });
    expect_as_global(
        {Y}, [&](const Vectors& x) { return reshape(x[0], joined); },
        [&](const Tensors& x) { return x[0].reshape(joined); });
    expect_as_global(
        {Y}, [&](const Vectors& x) { return flatten(x[0], 0, 1); },
        [&](const Tensors& x) { return x[0].reshape({-1}); });
    expect_as_global(
        {Y}, [&](const Vectors& x) { return reshape(flatten(x[0], 0, 1), Y); },
        [&](const Tensors& x) { return x[0].mul(1); });
  }
}

TEST(Reshape, KeepsUnitsAndAxesOfTheFirst) {
  const Partition mesh = Partition::simulated(4).grid({{"dp", 2}, {"tp", 2}});
  const auto reshaped = [](const Space& X, const Shape& shape) {
    return reshape(distribute(X, draws(X.shape(), 1)), shape).space();
  };
  const Space stream = Space(mesh, {3, 5, 8}).sharded(0, "dp").sharded(2, "tp");

  EXPECT_EQ(reshaped(stream.unit(2, 2), {3, 5, 4, 2}),
            Space(mesh, {3, 5, 4, 2}).sharded(0, "dp").sharded(2, "tp"));
  EXPECT_EQ(reshaped(stream, {3, 5, 4, 2}), Space(mesh, {3, 5, 4, 2}).sharded(0, "dp").sharded(2, "tp"));
  EXPECT_EQ(reshaped(stream, {3, 5, 1, 8}), Space(mesh, {3, 5, 1, 8}).sharded(0, "dp").sharded(3, "tp"));
  EXPECT_EQ(reshaped(stream, {15, 8}), Space(mesh, {15, 8}).unit(0, 5).sharded(0, "dp").sharded(1, "tp"));
  EXPECT_EQ(reshaped(Space(mesh, {3, 1, 4, 2}).sharded(2, "tp"), {3, 8}),
            Space(mesh, {3, 8}).unit(1, 2).sharded(1, "tp"));
  const Space zigzag = Space(mesh, {8, 3}).sharded(0, "dp", Split::zigzag(8, 2));
  EXPECT_EQ(reshaped(zigzag, {24}), Space(mesh, {24}).unit(0, 3).sharded(0, "dp", Split::zigzag(24, 2, 3)));
  EXPECT_EQ(reshaped(Space(mesh, {}), {1, 1}), Space(mesh, {1, 1}));
  EXPECT_EQ(reshaped(Space(mesh, {1, 1}), {}), Space(mesh, {}));
}

TEST(Reshape, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const auto vector = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Vector x = vector(Space(P, {4, 6}).sharded(1, "world"));

  EXPECT_ERROR(reshape(x, {24}), "reshape to [24]: axis world shards dim 1",
               "not the first of the dims that become one", "permute it to the front", "between(X, Y)");
  EXPECT_ERROR(reshape(vector(Space(P, {6}).sharded(0, "world")), {3, 2}), "axis world shards dim 0 of (6)",
               "cuts it within the 2 elements of a row", "give the dim units of 2 with Space::unit");
  EXPECT_ERROR(reshape(x, {5, 5}), "reshape to [5, 5]: (4, 6)", "has 24 elements");
  EXPECT_ERROR(reshape(vector(Space(P, {1}).sharded(0, "world")), {}), "no dim is left for axis world");
  EXPECT_ERROR(reshape(x, Space(P, {4, 6})), "workers hold other elements in", "between(X, Y)");
  EXPECT_ERROR(reshape(x, Space(P, {4, 6}).sharded(0, "world")), "workers hold other elements in");
  EXPECT_ERROR(unflatten(x, 1, {2, 2}), "unflatten: dim 1", "has 6 elements, not those of [2, 2]");
  EXPECT_ERROR(flatten(x, 1, 0), "flatten: dims 1 to 0");
  EXPECT_ERROR(permute(x, "bt->tt"), "permute: \"bt->tt\" must have each index once on either side");
  EXPECT_ERROR(permute(x, "bt"), "is not of the form \"btc->tbc\"");
  EXPECT_ERROR(permute(x, "btc->tbc"), "\"btc\" are 3 indices, for the dims of (4, 6)");
}

TEST(Select, IsTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 25; ++i) {
    const Space X = any_space(random);
    const int dim = random.any_of(X.dims());
    const auto n = static_cast<int>(X.shape()[static_cast<std::size_t>(dim)]);
    if (n == 0) continue;
    const int index = random.any_of(n);
    expect_as_global(
        {X}, [&](const Vectors& x) { return select(x[0], dim - X.dims(), index); },
        [&](const Tensors& x) { return x[0].select(dim, index); });
  }
}

TEST(Slice, IsTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Space X = any_space(random);
    const int dim = random.any_of(X.dims());
    const auto n = static_cast<int>(X.shape()[static_cast<std::size_t>(dim)]);
    const int begin = random.any_of(n + 1);
    const int end = begin + random.any_of(n - begin + 1);
    if (nested(X, dim)) continue;
    expect_as_global(
        {X}, [&](const Vectors& x) { return slice(x[0], dim, begin, end); },
        [&](const Tensors& x) { return x[0].narrow(dim, begin, end - begin); });
    expect_as_global(
        {X},
        [&](const Vectors& x) {
          return cat({slice(x[0], dim, begin, n), slice(x[0], dim, 0, end)}, dim);
        },
        [&](const Tensors& x) {
          return at::cat({x[0].narrow(dim, begin, n - begin), x[0].narrow(dim, 0, end)}, dim);
        });
  }
}

TEST(Stack, AndUnbindAreTorchsAtEveryPlacement) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 10; ++i) {
    const Space X = any_space(random);
    const int dim = random.any_of(X.dims() + 1);
    expect_as_global(
        {X, X}, [&](const Vectors& x) { return stack(x, dim); },
        [&](const Tensors& x) {
          return at::stack({x[0], x[1]}, dim);
        });
    expect_as_global(
        {X, X}, [&](const Vectors& x) { return unbind(stack(x, dim), dim)[1] - x[0]; },
        [&](const Tensors& x) { return x[1].sub(x[0]); });
  }
}

TEST(Slice, SaysInASplitWhatEveryWorkerKeeps) {
  const Partition P = Partition::simulated(3);
  const Space X = Space(P, {9, 2}).sharded(0, "world");
  const Vector x = distribute(X, draws({9, 2}, 1));

  EXPECT_EQ(slice(x, 0, 2, 5).space(), Space(P, {3, 2}).sharded(0, "world", Split::sizes({1, 2, 0})));
  EXPECT_EQ(slice(x, 1, 0, 1).space(), Space(P, {9, 1}).sharded(0, "world"));
  EXPECT_EQ(cat({x, x}, 0).space(),
            Space(P, {18, 2})
                .sharded(0, "world",
                         Split::pieces(18, {{{0, 3}, {9, 12}}, {{3, 6}, {12, 15}}, {{6, 9}, {15, 18}}})));
  EXPECT_EQ(select(x, 0, 4).space(), Space(P, {2}).partial("world"));
  EXPECT_EQ(stack({x, x}, 1).space(), Space(P, {9, 2, 2}).sharded(0, "world"));
}

TEST(Slice, SaysWhatDoesNotFit) {
  const Partition mesh = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});
  const auto vector = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const Vector x = vector(Space(mesh, {8, 3}).sharded(0, "a").sharded(0, "b"));

  EXPECT_ERROR(slice(x, 0, 1, 3), "slice of dim 0", "axes a and b shard it", "between(X, Y)");
  EXPECT_ERROR(cat({x, x}, 0), "cat of dim 0", "axes a and b shard it");
  EXPECT_ERROR(slice(x, 1, 2, 4), "slice: dim 1 of (8, 3)", "has no elements [2, 4)");
  EXPECT_ERROR(select(x, 1, 3), "select: there is no index 3 of dim 1");
  EXPECT_ERROR(cat({x, vector(Space(mesh, {8, 3}))}, 1),
               "cat along dim 1 needs vectors of spaces that differ", "between(X, Y)");
  EXPECT_ERROR(cat({x, vector(Space(mesh, {6, 3}).sharded(0, "a").sharded(0, "b"))}, 1),
               "cat along dim 1 needs vectors", "their other dims differ, which no between(X, Y) mends");
  EXPECT_ERROR(stack({x, vector(Space(mesh, {8, 4}))}, 0), "their shapes differ, [8, 3] and [8, 4]");
  EXPECT_ERROR(cat({}, 0), "cat of no vectors");
  EXPECT_ERROR(stack({x, vector(Space(mesh, {8, 3}))}, 0), "stack needs vectors of one space",
               "between(X, Y)");
  EXPECT_ERROR(stack({x}, 3), "stack: a new dim cannot be at 3");
}

}  // namespace
}  // namespace riesz::testing
