// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Draws of what is several intervals of a dim, or no space's part at all, are those of its global indices.
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

const std::vector<std::int64_t> kShape{5, 6, 7};

using Draw = std::function<at::Tensor(const Space&)>;

std::vector<Space> scattered(const Partition& P) {
  const Space X(P, kShape);
  return {
      X.sharded(0, "a", Split::zigzag(5, 2)).sharded(2, "b"),
      X.sharded(1, "a", Split::zigzag(6, 2)).sharded(2, "b", Split::zigzag(7, 2)),
      X.sharded(2, "a", Split::zigzag(7, 2)).sharded(2, "b"),
      X.sharded(0, "b", Split::zigzag(5, 2).rotated(1)).sharded(1, "a", Split::sizes({0, 6})),
      X.sharded(2, "a", Split::covering(7, {{{4, 7}, {0, 2}}, {{6, 7}, {1, 5}, {6, 7}}})).copied("b"),
      X.sharded(1, "a", Split::covering(6, {{}, {{3, 6}, {0, 3}}})).sharded(0, "b"),
  };
}

/// Each worker sees the layout with itself as `me`.
void expect_of_global_indices(const Draw& draw) {
  const at::Tensor alone = draw(Space(Partition::simulated(1), kShape)).reshape({-1});
  const std::vector<Axis> axes{{"a", 2}, {"b", 2}};
  for (int me = 0; me < 4; ++me) {
    for (const Space& X : scattered(Partition::simulated(4, me).grid(axes))) {
      const at::Tensor part = draw(X);

      EXPECT_EQ(part.sizes(), at::IntArrayRef(X.local_shape())) << to_string(X);
      EXPECT_TRUE(at::equal(part, alone.take(global_indices(X, me)).view_as(part)))
          << me << " of " << to_string(X);
    }
  }
}

TEST(Normal, OfSeveralIntervalsIsThatOfTheirGlobalIndices) {
  expect_of_global_indices([](const Space& X) { return normal(X, 42); });
}

TEST(DropoutMask, OfSeveralIntervalsIsThatOfTheirGlobalIndices) {
  expect_of_global_indices([](const Space& X) { return detail::dropout_mask(X, 42, 3, 0.3, at::kDouble); });
}

TEST(DropoutMask, OfABlockIsTheWholesAtItsRowsAndColumns) {
  const std::vector<std::int64_t> shape{2, 3, 13, 11};
  const at::Tensor whole =
      detail::dropout_mask(Space(Partition::simulated(1), shape), 42, 3, 0.3, at::kDouble);
  const Split rows = Split::zigzag(13, 3);
  const Split columns = Split::zigzag(11, 3);
  const auto part = [](const at::Tensor& x, int dim, const Intervals& held) {
    std::vector<at::Tensor> pieces;
    for (const Interval& piece : held) pieces.push_back(x.narrow(dim, piece.begin, piece.size()));
    return at::cat(pieces, dim);
  };
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const Boxes block{{{0, 2}}, {{1, 3}}, rows.held(i), columns.held(j)};
      const at::Tensor expected = part(part(whole.narrow(1, 1, 2), 2, rows.held(i)), 3, columns.held(j));

      EXPECT_TRUE(at::equal(detail::dropout_mask(shape, block, 42, 3, 0.3, at::kDouble), expected))
          << i << ", " << j;
    }
  }
  EXPECT_EQ(detail::dropout_mask(shape, {{{0, 2}}, {{1, 3}}, {}, {{0, 11}}}, 42, 3, 0.3, at::kFloat).sizes(),
            at::IntArrayRef({2, 2, 0, 11}));
  EXPECT_EQ(detail::dropout_mask({}, {}, 42, 3, 0, at::kFloat).dim(), 0);
}

}  // namespace
}  // namespace riesz::testing
