// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Attention with K and V going round a ring, against softmax on global tensors.
#include "riesz/nn/ring_attention.h"

#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 13, H = 3, D = 2;

Partition ring_of_all() { return Partition::world().grid({{"sp", Partition::world().size()}}); }

/// One to each other worker while there are, the rest to the last.
Split lopsided(std::int64_t n, int p) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  std::int64_t left = n;
  for (std::size_t worker = 0; worker + 1 < sizes.size() && left > 0; worker += 2, --left) sizes[worker] = 1;
  sizes.back() = left;
  return Split::sizes(sizes);
}

std::vector<Split> splits(std::int64_t n, int p) {
  return {Split::balanced(n, p), Split::zigzag(n, p), lopsided(n, p), Split::zigzag(n, p).rotated(1)};
}

TEST(RingAttention, IsSoftmaxOverAllPositionsForAnySplits) {
  const Partition mesh = ring_of_all();
  const int p = mesh.size();
  const Space Q(mesh, {B, T, H, D});
  for (const std::int64_t S : {T, std::int64_t{8}, std::int64_t{17}, std::int64_t{2}}) {
    const Space K(mesh, {B, S, H, D});
    for (std::size_t i = 0; i < 4; ++i) {
      const Space Qs = Q.sharded(1, "sp", splits(T, p)[i]);
      for (const bool causal : {false, true}) {
        expect_attention(Qs, K.sharded(1, "sp", splits(S, p)[i]), {.causal = causal});
        expect_attention(Qs, K.sharded(1, "sp", splits(S, p)[(i + 1) % 4]), {.causal = causal});
      }
    }
    expect_attention(Q.sharded(1, "sp"), K.sharded(1, "sp"), {.causal = true, .scale = 0.3});
  }
}

TEST(RingAttention, TakesMasksOfEveryShapeFromAnySpace) {
  const Partition mesh = ring_of_all();
  const Space Q = Space(mesh, {2, T, H, D}).sharded(1, "sp", Split::zigzag(T, mesh.size()));
  const Space K = Space(mesh, {2, 7, H, D}).sharded(1, "sp");
  for (const bool boolean : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const auto& shape : std::vector<std::vector<std::int64_t>>{{T, 7}, {2, T, 7}, {2, H, T, 7}}) {
        const Space M(mesh, shape);
        for (const Space& X : {M, M.sharded(0, "sp"), M.sharded(M.dims() - 1, "sp"), M.copied("sp")}) {
          expect_attention(Q, K, {.causal = causal, .mask = X, .boolean = boolean});
        }
      }
    }
  }
}

TEST(RingAttention, DropsByGlobalIndex) {
  const Partition mesh = ring_of_all();
  const int p = mesh.size();
  const Space X(mesh, {B, T, H, D});
  for (const Split& split : splits(T, p)) {
    for (const bool causal : {false, true}) {
      expect_attention(X.sharded(1, "sp", split), X.sharded(1, "sp", split),
                       {.causal = causal, .dropped = 0.4});
    }
  }
  const Space M(mesh, {T, T});
  expect_attention(X.sharded(1, "sp"), X.sharded(1, "sp"), {.causal = true, .dropped = 0.4, .mask = M});
}

}  // namespace
}  // namespace riesz::testing
