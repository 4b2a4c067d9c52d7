// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause

// The code of docs/concepts/vectors.md, on every grid of the workers.
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using Vectors = std::vector<Vector>;

Vector softmax(const Vector& scores) {
  const Vector e = exp(sub(scores, "btv", max(scores, {2}), "bt"));
  return div(e, "btv", sum(e, {2}), "bt");
}

Vector normalised(const Vector& x, const Vector& gain, const Vector& bias) {
  const Vector centred = sub(x, "btc", mean(x, {2}), "bt");
  const Vector variance = mean(centred * centred, {2}, {.all_reduce = true});
  const Vector scale = map("rsqrt", variance, [](const at::Tensor& v) { return v.add(1e-5).rsqrt(); });
  return add(mul(mul(centred, "btc", scale, "bt"), "btc", gain, "c"), "btc", bias, "c");
}

TEST(VectorsPage, SoftmaxIsTorchs) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {2, 3, 7}).sharded(0, "dp").sharded(2, "tp");
    expect_as_global(
        {X}, [](const Vectors& x) { return softmax(x[0]); },
        [](const Tensors& x) { return x[0].softmax(2); });
  }
}

TEST(VectorsPage, NormalisedIsTorchs) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {2, 3, 7}).sharded(0, "dp").sharded(2, "tp");
    const Space C = Space(mesh, {7}).sharded(0, "tp");
    expect_as_global(
        {X, C, C}, [](const Vectors& x) { return normalised(x[0], x[1], x[2]); },
        [](const Tensors& x) {
          const at::Tensor centred = x[0].sub(x[0].mean(2, true));
          const at::Tensor scale = centred.square().mean(2, true).add(1e-5).rsqrt();
          return centred.mul(scale).mul(x[1]).add(x[2]);
        },
        1e-10);
  }
}

TEST(VectorsPage, ShapesLeadWhereThePageSays) {
  const Partition mesh = Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}});
  const Space X = Space(mesh, {3, 5, 24}).unit(2, 6).sharded(0, "dp").sharded(2, "tp");
  const Vector x = distribute(X, at::arange(3 * 5 * 24, at::kDouble).view({3, 5, 24}));

  const Vector heads = unflatten(x, 2, {4, 6});        // (3, 5, 4, 6): tp shards the 4 heads
  const Vector rows = flatten(x, 0, 1);                // (15, 24): dp shards dim 0, in units of 5
  const Vector first = select(x, 2, 0);                // (3, 5): Partial on tp; its holder has it, others 0
  const Vector middle = slice(x, 0, 1, 3);             // (2, 5, 24): dp shards dim 0 as 1+1
  const Vector turned = permute(heads, "bthd->bhtd");  // (3, 4, 5, 6)
  const Vector whole_again = reshape(flatten(heads, 2, 3), X);

  EXPECT_EQ(heads.space(), Space(mesh, {3, 5, 4, 6}).sharded(0, "dp").sharded(2, "tp"));
  EXPECT_EQ(rows.space(), Space(mesh, {15, 24}).unit(0, 5).unit(1, 6).sharded(0, "dp").sharded(1, "tp"));
  EXPECT_EQ(first.space(), Space(mesh, {3, 5}).sharded(0, "dp").partial("tp"));
  EXPECT_EQ(middle.space().shards(0).front().split, Split::sizes({1, 1}));
  EXPECT_EQ(turned.space(), Space(mesh, {3, 4, 5, 6}).sharded(0, "dp").sharded(1, "tp"));
  EXPECT_EQ(whole_again.space(), X);
}

}  // namespace
}  // namespace riesz::testing
