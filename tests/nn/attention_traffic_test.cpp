// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What leaves each worker: rings, Ulysses, gathered keys; and who computes how much.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/attention/plan.h"
#include "riesz/nn/attention/ring_attention.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 2, H = 6, D = 4;

Traffic counted(const std::function<void()>& f) {
  const Traffic before = Counters::instance().total();
  f();
  return Counters::instance().total() - before;
}

/// Of fp64.
Traffic traffic(std::int64_t elements, std::int64_t messages) { return {elements, 8 * elements, messages}; }

/// What the worker at `coordinate` has of K and V at each of `steps` steps and sends on.
Traffic sent_on(const Split& split, int coordinate, int steps, std::int64_t elements_a_position) {
  const int p = split.workers();
  Traffic sum;
  for (int step = 0; step < steps && p > 1; ++step) {
    const std::int64_t n = elements_a_position * total(split.held((coordinate - step + p) % p));
    sum += traffic(n, n > 0 ? 1 : 0);
  }
  return sum;
}

void expect_ring_traffic(const Partition& mesh, const Split& split, bool causal) {
  const int p = mesh.extent("tp");
  const std::int64_t T = split.extent();
  const Space X = Space(mesh, {B, T, H, D}).sharded(2, "dp").sharded(1, "tp", split);
  SCOPED_TRACE(to_string(X));
  const std::vector<std::int64_t> local = X.local_shape();
  const int coordinate = mesh.coordinate(mesh.rank(), mesh.index("tp"));
  const std::int64_t width = 2 * B * local[2] * D;  // of K and V, a position
  const at::Tensor drawn = draws(X.shape(), 1);
  const Vector q = leaf(X, drawn), k = leaf(X, drawn), v = leaf(X, drawn);
  const Vector ybar = distribute(dual(X), drawn);

  Chain chain;
  std::vector<Vector> y;
  const Traffic forward = counted([&] { y.push_back(attention(q, k, v, {.causal = causal})); });
  const Traffic backward = counted([&] { pullback(y.front(), ybar, {q, k, v}); });

  const Traffic around = sent_on(split, coordinate, p - 1, width);
  EXPECT_EQ(forward, around);
  EXPECT_EQ(backward, around + sent_on(split, coordinate, p, width));
  if (T % p == 0 && local[2] == H && p > 1 &&
      split == Split::balanced(T, p)) {  // the formulas, of bsh = B·T·H·D
    EXPECT_EQ(forward, traffic(2 * (p - 1) * B * T * H * D / p, p - 1));
    EXPECT_EQ(backward, traffic(2 * (p - 1) * B * T * H * D / p + 2 * B * T * H * D, 2 * p - 1));
  }
}

TEST(RingTraffic, IsWhatEachWorkerHasOfOthersStepByStep) {
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
    for (std::size_t worker = 0; worker < sizes.size(); worker += 2)
      sizes[worker] = 3 + static_cast<std::int64_t>(worker);
    for (const bool causal : {false, true}) {
      expect_ring_traffic(mesh, Split::balanced(12, p), causal);
      expect_ring_traffic(mesh, Split::balanced(13, p), causal);
      expect_ring_traffic(mesh, Split::zigzag(13, p), causal);
      expect_ring_traffic(mesh, Split::sizes(sizes), causal);
      expect_ring_traffic(mesh, Split::balanced(2, p), causal);
    }
  }
}

TEST(GatheredTraffic, IsOneGatherForwardAndOneReduceScatterBackward) {
  const Partition P = Partition::world();
  const int p = P.size();
  constexpr std::int64_t T = 12;
  const Space X = Space(P, {B, T, H, D}).sharded(1, "world");
  const Space gathered = Space(P, {B, T, H, D}).copied("world");
  const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2));

  Chain chain;
  std::vector<Vector> y;
  const Traffic forward = counted([&] {
    const Vector keys = between(X, gathered)(k);
    y.push_back(attention(q, keys, keys, {.causal = true}));
  });
  const Traffic backward = counted([&] {
    pullback(y.front(), distribute(dual(X), draws(X.shape(), 3)), {q, k});
  });

  if (p > 1) {
    EXPECT_EQ(forward.elements, (p - 1) * q.local().numel());
    EXPECT_EQ(backward.elements, B * T * H * D - q.local().numel());
  }
}

TEST(GatheredTraffic, OfReplicatedKeysIsOneAllReduceBackward) {
  const Partition P = Partition::world();
  const int p = P.size();
  constexpr std::int64_t T = 12;
  const Space K(P, {B, T, H, D});
  const Space X = K.sharded(1, "world");
  const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(K, draws(X.shape(), 2)),
               v = leaf(K, draws(X.shape(), 3));

  Chain chain;
  std::vector<Vector> y;
  const Traffic forward = counted([&] { y.push_back(attention(q, k, v, {.causal = true})); });
  const Traffic backward = counted([&] {
    pullback(y.front(), distribute(dual(X), draws(X.shape(), 3)), {q, k, v});
  });

  EXPECT_EQ(forward, Traffic{});
  if (p > 1) {
    EXPECT_EQ(backward.elements, 2 * (p - 1) * 2 * B * T * H * D / p);
  }
}

/// Ulysses: sequence-sharded → heads-sharded, attention there, and back.
Vector ulysses(const Vector& qkv, const Space& by_heads, const Space& Y, const Dropout& drop) {
  const Vector y = attention(between(qkv.space(), by_heads)(qkv), {.causal = true, .dropout = &drop});
  return between(y.space(), Y)(y);
}

TEST(Ulysses, IsAnAllToAllThereAndBack) {
  const Partition P = Partition::world();
  const int p = P.size();
  for (const std::int64_t heads : {std::int64_t{12}, std::int64_t{3}}) {
    for (const std::int64_t T : {12, 13}) {
      const Space X = Space(P, {3, B, T, heads, D}).sharded(2, "world");
      const Space by_heads = Space(P, {3, B, T, heads, D}).sharded(3, "world");
      const Space Y = Space(P, {B, T, heads, D}).sharded(1, "world");
      SCOPED_TRACE(to_string(X));
      const at::Tensor global = draws(X.shape(), 1).requires_grad_();
      const at::Tensor ybar = draws(Y.shape(), 2);
      const DropoutModel model(0);
      const Vector qkv = leaf(X, global);

      Chain chain;
      std::vector<Vector> y;
      const Traffic forward = counted([&] { y.push_back(ulysses(qkv, by_heads, Y, model.drop)); });
      std::vector<Vector> gradient;
      const Traffic backward =
          counted([&] { gradient = pullback(y.front(), distribute(dual(Y), ybar), {qkv}); });

      const at::Tensor later = at::ones({T, T}, at::kDouble).triu(1).gt(0);
      const at::Tensor expected =
          attention_formula(global.select(0, 0), global.select(0, 1), global.select(0, 2), 0.5,
                            at::zeros({T, T}, at::kDouble), later, at::ones({1}, at::kDouble));
      expected.backward(ybar);
      EXPECT_TRUE(means(y.front(), expected));
      EXPECT_TRUE(means(gradient.front(), global.grad()));
      const std::int64_t mine = X.local_shape()[2], my_heads = by_heads.local_shape()[3];
      const std::int64_t to_heads = 3 * B * D * mine * (heads - my_heads);
      const std::int64_t to_rows = B * D * my_heads * (T - mine);
      EXPECT_EQ(forward.elements, to_heads + to_rows);
      EXPECT_EQ(backward.elements, 3 * B * D * my_heads * (T - mine) + B * D * mine * (heads - my_heads));
      if (T % p == 0 && heads % p == 0) {  // 4(p − 1)/p²·bsh and p − 1 messages an AllToAll
        EXPECT_EQ(forward, traffic(4 * (p - 1) * B * T * heads * D / (p * p), 2 * (p - 1)));
        EXPECT_EQ(backward, forward);
      }
    }
  }
}

/// Beside that, of which keys are seen a byte each, sent once to each other worker; backward nothing.
TEST(Ulysses, GathersWhichKeysAreSeenOnce) {
  const Partition P = Partition::world();
  constexpr std::int64_t heads = 12;
  for (const std::int64_t T : {12, 13}) {
    const Space X = Space(P, {3, B, T, heads, D}).sharded(2, "world");
    const Space by_heads = Space(P, {3, B, T, heads, D}).sharded(3, "world");
    const Space Y = Space(P, {B, T, heads, D}).sharded(1, "world");
    const Space whole(P, {B, T});
    for (const Space& M : {whole, whole.sharded(1, "world")}) {
      SCOPED_TRACE(to_string(M));
      const Vector seen = distribute(M, padded_keys(B, T));
      std::vector<Traffic> forward, backward;
      for (const bool given : {false, true}) {
        const Vector qkv = leaf(X, draws(X.shape(), 1));
        AttentionOptions options{.causal = true};
        if (given) options.seen = seen;
        Chain chain;
        std::vector<Vector> y;
        forward.push_back(counted([&] {
          const Vector z = attention(between(X, by_heads)(qkv), options);
          y.push_back(between(z.space(), Y)(z));
        }));
        backward.push_back(
            counted([&] { pullback(y.front(), distribute(dual(Y), draws(Y.shape(), 2)), {qkv}); }));
      }
      const std::int64_t n = M == whole ? 0 : (P.size() - 1) * seen.local().numel();
      EXPECT_EQ(forward[1] - forward[0], (Traffic{n, n, n > 0 ? P.size() - 1 : 0}));
      EXPECT_EQ(backward[1], backward[0]);
    }
  }
}

std::vector<std::int64_t> half_scores(const Space& X, bool causal) {
  const detail::Ring ring(X, detail::packed(X), "world");
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < X.partition().size(); ++rank) all.push_back(ring.half_scores(rank, causal));
  return all;
}

TEST(RingWork, IsEvenInZigzagAndUpToTwiceTheMeanWithoutIt) {
  for (const int p : {2, 3, 4, 8}) {
    const std::int64_t T = 2 * p * 5;
    const Space X(Partition::simulated(p), {1, T, 1, 1});
    const std::vector<std::int64_t> zigzag = half_scores(X.sharded(1, "world", Split::zigzag(T, p)), true);
    const std::vector<std::int64_t> rows = half_scores(X.sharded(1, "world"), true);
    const std::vector<std::int64_t> all = half_scores(X.sharded(1, "world"), false);

    EXPECT_EQ(zigzag, std::vector<std::int64_t>(zigzag.size(), T * T / p)) << "max/mean = 1";
    const std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    EXPECT_EQ(*std::max_element(rows.begin(), rows.end()) * p * p, (2 * p - 1) * sum)
        << "max/mean = (2p - 1)/p";
    EXPECT_EQ(sum, T * T) << "half of all";
    EXPECT_EQ(all, std::vector<std::int64_t>(all.size(), 2 * T * T / p));
  }
}

TEST(RingWork, LeavesOutWhatIsHiddenWholly) {
  const Partition P = Partition::world();
  const std::int64_t T = 4 * P.size();
  const Space X = Space(P, {B, T, H, D}).sharded(1, "world");
  at::Tensor v = draws(X.shape(), 1);
  v.narrow(1, T - 4, 4)
      .fill_(std::nan(""));  // whoever touches the last worker's values is no number any more
  const at::NoGradGuard guard;

  const Vector q = distribute(X, draws(X.shape(), 2));
  const Vector y = attention(q, q, distribute(X, v), {.causal = true});

  EXPECT_EQ(y.local().isfinite().all().item<bool>(), P.rank() + 1 < P.size());
}

/// The same in zigzag, in backward too: the last of 2p runs, the first worker's, is seen by its own rows
/// alone.
TEST(RingWork, LeavesOutWhatIsHiddenWhollyInZigzag) {
  const Partition P = Partition::world();
  const std::int64_t run = 3, T = 2 * run * P.size();
  const Space X = Space(P, {B, T, H, D}).sharded(1, "world", Split::zigzag(T, P.size()));
  at::Tensor v = draws(X.shape(), 1);
  v.narrow(1, T - run, run).fill_(std::nan(""));
  const Vector q = leaf(X, draws(X.shape(), 2));

  Chain chain;
  const Vector y = attention(q, leaf(X, draws(X.shape(), 3)), distribute(X, v), {.causal = true});
  const Vector gradient = pullback(y, distribute(dual(X), draws(X.shape(), 4)), {q}).front();

  const bool whole = P.size() == 1;  // no ring: one tile
  for (const at::Tensor& rows : {y.local(), gradient.local()}) {
    const std::int64_t seen = P.rank() == 0 ? run : 0;  // rows that do see it
    const std::int64_t others = rows.size(1) - seen;
    EXPECT_TRUE(whole || rows.narrow(1, 0, others).isfinite().all().item<bool>());
    EXPECT_EQ(rows.narrow(1, others, seen).isnan().any().item<bool>(), P.rank() == 0);
  }
}

}  // namespace
}  // namespace riesz::testing
