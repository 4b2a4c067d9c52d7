// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Attention where several query heads share a key head.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/attention/key_heads.h"
#include "riesz/nn/attention/plan.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 3, T = 7, S = 5, D = 2;

/// What each worker of an axis needs of g key heads where the h query heads are split so.
Split needs(const Split& queries, std::int64_t g) {
  const std::int64_t group = queries.extent() / g;
  std::vector<Intervals> needed;
  for (int worker = 0; worker < queries.workers(); ++worker) {
    Intervals mine;
    for (const Interval& run : queries.held(worker)) {
      if (run.size() > 0) mine.push_back({run.begin / group, (run.end - 1) / group + 1});
    }
    needed.push_back(mine);
  }
  return Split::covering(g, needed);
}

std::vector<AttentionCase> cases(const Space& Q, std::int64_t keys) {
  const Space M(Q.partition(), {T, keys});
  return {{.causal = true},
          {.dropped = 0.4},
          {.causal = true, .mask = M.sharded(0, "tp")},
          {.mask = Space(Q.partition(), {B, Q.shape()[2], T, keys}), .boolean = true}};
}

/// Where the heads are split over "tp" in `queries`, at any rate, and in a ring over "dp" as well.
void expect_grouped(const Partition& mesh, const Split& queries, std::int64_t g, std::size_t which) {
  const std::int64_t h = queries.extent();
  const Space Q = Space(mesh, {B, T, h, D}).sharded(2, "tp", queries);
  const std::int64_t keys = which % 2 == 0 ? T : S;
  const Space K(mesh, {B, keys, g, D});
  const AttentionCase c = cases(Q, keys)[which % 4];
  const Space covered = K.sharded(2, "tp", needs(queries, g));
  expect_attention(Q.sharded(0, "dp"), covered.sharded(0, "dp"), c);
  expect_attention(Q, K, c);
  expect_attention(Q, K.copied("tp"), c);
  expect_attention(Q.sharded(1, "dp"), covered.sharded(1, "dp"), c);
  expect_attention(Q.sharded(1, "dp", Split::zigzag(T, mesh.extent("dp"))), K.sharded(1, "dp"), c);
}

TEST(GroupedAttention, IsThatOfRepeatedKeyHeadsAtEverySplitOfHeads) {
  std::size_t which = 0;
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    std::vector<std::int64_t> lopsided(static_cast<std::size_t>(p), 0);
    lopsided.back() = 5;
    lopsided.front() += 1;
    expect_grouped(mesh, Split::balanced(6, p), 3, which++);  // groups of two, cut where p = 4
    expect_grouped(mesh, Split::balanced(6, p), 1, which++);  // all share one
    expect_grouped(mesh, Split::balanced(8, p), 2, which++);  // groups of four, cut where p = 3
    expect_grouped(mesh, Split::sizes(lopsided), 2, which++);
    expect_grouped(mesh, Split::zigzag(6, p), 2, which++);
  }
}

TEST(GroupedAttention, TakesTheSameSplitInWholeGroups) {
  for (const Partition& mesh : meshes()) {
    const Space Q = Space(mesh, {B, T, 8, D}).unit(2, 2).sharded(2, "tp").sharded(2, "dp");
    const Space K = Space(mesh, {B, T, 4, D}).sharded(2, "tp").sharded(2, "dp");
    expect_attention(Q, K, {.causal = true});
    expect_attention(Q, K, {.dropped = 0.4});
    const Space by_batch = Space(mesh, {B, T, 8, D}).sharded(0, "tp");
    expect_attention(by_batch, Space(mesh, {B, T, 4, D}).sharded(0, "tp"), {.causal = true});
    expect_attention(Q.replicated("dp").replicated("tp"), K.replicated("dp").replicated("tp"), {});
  }
}

TEST(GroupedAttention, IsTheSameAtRandomSplits) {
  RandomSpaces random(23);
  for (int trial = 0; trial < 25; ++trial) {
    const int size = Partition::world().size();
    const int tp = size % 2 == 0 && random.any_of(2) == 0 ? size / 2 : size;
    const Partition mesh = Partition::world().grid({{"dp", size / tp}, {"tp", tp}});
    const std::int64_t g = 1 + random.any_of(3), h = g * (1 + random.any_of(4));
    const Split queries = random.split(h, tp);
    Space Q = Space(mesh, {B, T, h, D}).sharded(2, "tp", queries);
    Space K(mesh, {B, S, g, D});
    const int way = random.any_of(3);
    if (way == 0) K = K.sharded(2, "tp", needs(queries, g));
    if (way == 1) K = K.copied("tp");
    const int other = random.any_of(3);
    if (other == 0) Q = Q.sharded(1, "dp", random.split(T, size / tp));
    if (other == 0) K = K.sharded(1, "dp", random.split(S, size / tp));
    if (other == 1) Q = Q.sharded(1, "dp");
    expect_attention(Q, K, cases(Q, S)[static_cast<std::size_t>(random.any_of(4))]);
  }
}

TEST(GroupedAttention, SendsKeyHeadsAloneRoundTheRing) {
  constexpr std::int64_t h = 6, g = 2, positions = 12;
  const Partition P = Partition::world();
  const int p = P.size();
  const Space Q = Space(P, {B, positions, h, D}).sharded(1, "world");
  const Space K = Space(P, {B, positions, g, D}).sharded(1, "world");
  const Vector q = leaf(Q, draws(Q.shape(), 1)), k = leaf(K, draws(K.shape(), 2)),
               v = leaf(K, draws(K.shape(), 3));

  Chain chain;
  const Traffic before = Counters::instance().total();
  const Vector y = attention(q, k, v, {.causal = true});
  const Traffic between = Counters::instance().total();
  pullback(y, distribute(dual(Q), draws(Q.shape(), 4)), {q, k, v});
  const Traffic after = Counters::instance().total();

  if (p > 1 && positions % p == 0) {
    const std::int64_t around = 2 * (p - 1) * B * positions * g * D / p;
    EXPECT_EQ((between - before).elements, around);
    EXPECT_EQ((after - between).elements, around + 2 * B * positions * g * D);
  }
}

/// No copy of k for each query head where the heads divide, also of the part of k that is used.
TEST(GroupedAttention, CopiesNoKeysWhereHeadsDivide) {
  constexpr std::int64_t rows = 2, columns = 256, width = 16, h = 8, g = 2;
  const Partition P = Partition::simulated(1);
  const Space Q(P, {1, rows, h, width}), K(P, {1, columns, g, width});
  const Vector q(Q, draws(Q.shape(), 1)), k(K, draws(K.shape(), 2));
  const at::NoGradGuard guard;
  const MemoryMeter meter;
  for (int i = 0; i < 2; ++i) attention(q, k, k);
  EXPECT_LT(MemoryMeter::largest(), 8 * k.local().numel());
}

TEST(KeyHeads, AreViewsWhereTheyDivide) {
  const at::Tensor held = draws({2, 4, 3}, 1);  // four key heads along dim 1
  const auto used = [&](const Intervals& queries, const Intervals& keys, std::int64_t group) {
    return detail::KeyHeads(queries, keys, group).used(held, 1);
  };
  const auto is_view = [&](const at::Tensor& x) { return x.storage().data() == held.storage().data(); };

  EXPECT_TRUE(used({{0, 8}}, {{0, 4}}, 2).is_same(held));
  EXPECT_TRUE(is_view(used({{2, 6}}, {{0, 4}}, 2)));
  EXPECT_EQ(used({{2, 6}}, {{0, 4}}, 2).size(1), 2);
  EXPECT_EQ(used({{5, 7}}, {{5, 9}}, 1).size(1), 2);
  EXPECT_EQ(used({{3, 6}}, {{0, 4}}, 2).size(1), 3) << "3 → 1, 4 and 5 → 2: one for each";
  EXPECT_FALSE(is_view(used({{3, 6}}, {{0, 4}}, 2)));
  EXPECT_EQ(used({}, {{0, 4}}, 2).size(1), 0);
  EXPECT_EQ(detail::KeyHeads({{0, 4}}, {{1, 3}}, 2).query_without_key(), 0);
  EXPECT_EQ(detail::KeyHeads({{2, 8}}, {{1, 3}}, 2).query_without_key(), 6);
  EXPECT_EQ(detail::KeyHeads({{2, 6}}, {{1, 3}}, 2).query_without_key(), std::nullopt);
}

/// Also where some query heads share a key head and others do not, so that what is used is a copy.
TEST(KeyHeads, GiveGradientsBackByTheAdjoint) {
  const at::Tensor held = draws({2, 4, 3}, 1);
  for (const Intervals& queries : {Intervals{{3, 6}}, Intervals{{2, 6}}, Intervals{{0, 3}, {5, 8}}}) {
    const detail::KeyHeads heads(queries, {{0, 4}}, 2);
    const at::Tensor sum = at::zeros_like(held), part = heads.used(sum, 1);
    const at::Tensor gradient = draws(part.sizes().vec(), 2);
    part.copy_(gradient);
    heads.add_used(sum, 1, part);
    EXPECT_TRUE(is_close(held.mul(sum).sum(), heads.used(held, 1).mul(gradient).sum()));
  }
}

TEST(GroupedAttention, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(3);
  const Space Q(P, {B, T, 6, D});
  const Space K(P, {B, T, 2, D});
  const Space heads = Q.sharded(2, "world");

  EXPECT_ERROR(detail::plan_attention(Q, Space(P, {B, T, 4, D})), "q has 6 and k has 4 in the heads, dim 2",
               "of which q's are a multiple");
  EXPECT_ERROR(detail::plan_attention(Q, Space(P, {B, T, 0, D})), "q has 6 and k has 0 in the heads");
  EXPECT_ERROR(detail::plan_attention(heads, K.sharded(2, "world")),
               "the heads, dim 2: worker 1 has query head 2 but not its key head, 0", "Split::covering");
  EXPECT_ERROR(detail::plan_attention(heads, dual(K.sharded(2, "world", needs(Split::balanced(6, 3), 2)))),
               "terms where the splits of dim 2 overlap");
  EXPECT_ERROR(detail::plan_attention(Q, K.sharded(2, "world")),
               "q is Replicated but k and v are Sharded(2)");
  EXPECT_ERROR(detail::plan_attention(heads, K.sharded(1, "world")),
               "q is Sharded(2) but k and v are Sharded(1)",
               "with the key heads that its query heads use on each worker, or Copied");
}

}  // namespace
}  // namespace riesz::testing
