// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Attention from an offset and through a window: who sees what, in which tiles, and with the same result.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/nn/attention/tile.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 2, T = 13, S = 17, H = 2, D = 2;

struct Reach {
  std::int64_t offset;
  std::optional<std::int64_t> window;
};

const std::vector<Reach>& reaches() {
  static const std::vector<Reach> all{{0, 3}, {4, std::nullopt}, {4, 5}, {9, 1}, {-3, 4}, {40, 20}};
  return all;
}

std::vector<AttentionCase> cases(const Partition& mesh, std::int64_t keys, const Reach& r) {
  const Space M(mesh, {T, keys});
  std::vector<AttentionCase> all{
      {},
      {.mask = M.sharded(0, "tp")},
      {.dropped = 0.4},
      {.dropped = 0.4, .mask = Space(mesh, {B, H, T, keys}).sharded(3, "dp"), .boolean = true}};
  for (AttentionCase& c : all) {
    c.causal = true;
    c.offset = r.offset;
    c.window = r.window;
  }
  return all;
}

TEST(WindowedAttention, IsTheSameAtEveryPlacement) {
  std::size_t which = 0;
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    for (const Reach& r : reaches()) {
      const std::int64_t keys = which % 2 == 0 ? T : S;
      const Space Q(mesh, {B, T, H, D}), K(mesh, {B, keys, H, D});
      const AttentionCase c = cases(mesh, keys, r)[which++ % 4];
      expect_attention(Q.sharded(0, "dp").sharded(2, "tp"), K.sharded(0, "dp").sharded(2, "tp"), c);
      expect_attention(Q.sharded(1, "tp", Split::zigzag(T, p)), K, c);
      expect_attention(Q.sharded(1, "tp", Split::zigzag(T, p)).sharded(0, "dp"),
                       K.sharded(1, "tp", Split::zigzag(keys, p)).sharded(0, "dp"), c);
      expect_attention(Q.sharded(1, "tp"), K.sharded(1, "tp"), c);
    }
  }
}

TEST(WindowedAttention, IsTheSameAtRandomSplits) {
  RandomSpaces random(31);
  for (int trial = 0; trial < 25; ++trial) {
    const Partition P = Partition::world().grid({{"dp", 1}, {"tp", Partition::world().size()}});
    const int p = P.extent("tp");
    const std::int64_t g = 1 + random.any_of(2);
    const Space Q = Space(P, {B, T, 2, D}).sharded(1, "tp", random.split(T, p));
    const Space K = Space(P, {B, S, g, D}).sharded(1, "tp", random.split(S, p));
    const Reach r{random.any_of(12) - 3,
                  random.any_of(3) == 0 ? std::optional<std::int64_t>() : 1 + random.any_of(9)};
    expect_attention(Q, K, cases(P, S, r)[static_cast<std::size_t>(random.any_of(4))]);
  }
}

/// Rows that are many more than the window go in runs.
TEST(WindowedAttention, TakesLongSequences) {
  const Partition mesh = Partition::world().grid({{"dp", 1}, {"tp", Partition::world().size()}});
  const Space Q(mesh, {1, 200, 1, D});
  const AttentionCase c{.causal = true, .window = 7};
  expect_attention(Q, Q, c);
  expect_attention(Q.sharded(1, "tp"), Q.sharded(1, "tp"), c);
  expect_attention(Q.sharded(1, "tp"), Q.copied("tp"), {.causal = true, .dropped = 0.3, .window = 80});
}

TEST(WindowedAttention, MakesNoScoresFarBeyondTheWindow) {
  constexpr std::int64_t positions = 4096;
  const Space X(Partition::simulated(1), {1, positions, 1, 1});
  const Vector x(X, draws(X.shape(), 1));
  const at::NoGradGuard guard;
  const MemoryMeter meter;
  for (int i = 0; i < 2; ++i) attention(x, x, x, {.causal = true, .window = 8});
  EXPECT_LE(MemoryMeter::largest(), 8 * 16 * positions);
}

/// Every pair that is seen is in one tile, and tiles say what they hide.
TEST(Tiles, HaveWhatIsSeenOnce) {
  RandomSpaces random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = 1 + random.any_of(4);
    const std::int64_t t = 1 + random.any_of(100), s = 1 + random.any_of(40);
    detail::Visibility visibility{.causal = random.any_of(5) > 0, .offset = random.any_of(20) - 5};
    if (visibility.causal && random.any_of(2) == 0) visibility.window = 1 + random.any_of(12);
    const Intervals rows = random.split(t, p).held(random.any_of(p));
    const Intervals columns = random.split(s, p).held(random.any_of(p));
    const at::Tensor expected = visibility.mask(rows, columns, at::kCPU);
    at::Tensor seen = at::zeros(expected.sizes(), at::kLong);
    for (const detail::Tile& tile : detail::tiles(rows, columns, visibility, random.any_of(2) == 0)) {
      ASSERT_GT(tile.rows.size() * tile.columns.size(), 0);
      const at::Tensor mask = visibility.mask(tile.row_positions, tile.column_positions, at::kCPU);
      ASSERT_EQ(mask.size(0), tile.rows.size());
      ASSERT_EQ(mask.size(1), tile.columns.size());
      EXPECT_EQ(tile.whole, mask.all().item<bool>());
      EXPECT_TRUE(!tile.corner || mask.equal(at::ones(mask.sizes(), at::kDouble).tril(0).gt(0)));
      seen.narrow(0, tile.rows.begin, tile.rows.size())
          .narrow(1, tile.columns.begin, tile.columns.size())
          .add_(mask.to(at::kLong));
    }
    EXPECT_TRUE(seen.equal(expected.to(at::kLong)));
  }
}

TEST(WindowedAttention, SaysWhatDoesNotFit) {
  const Space X(Partition::simulated(1), {B, T, H, D});
  const Vector x(X, draws(X.shape(), 1));
  EXPECT_ERROR(attention(x, x, x, {.window = 3}), "a window of 3 positions, not causal",
               "needs .causal = true");
  EXPECT_ERROR(attention(x, x, x, {.causal = true, .window = 0}), "a window of 0 positions", "1 or more");
}

}  // namespace
}  // namespace riesz::testing
