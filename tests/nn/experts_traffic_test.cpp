// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What experts send, and what they refuse.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "plain_experts.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/freeze.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kLength = 3, kWidth = 5;
constexpr std::uint64_t kSeed = 11;

/// Forward: tokens and gates there, tokens back; backward the same, and no counts.
TEST(Experts, SendWhatTheRoutingSays) {
  const int p = Runtime::size();
  const Partition mesh = Partition::world().grid({{"ep", p}});
  const std::int64_t experts = 2 * p;
  const Space X = Space(mesh, {2 * p, kLength, kWidth}).sharded(0, "ep");
  Experts layer("experts", X, {"ep"}, {.experts = experts, .inner = 4});
  layer.initialise(kSeed, at::kDouble);
  TopKGate gate("gate", mesh, experts, {.k = 2});
  const at::Tensor logits = draws({2 * p, kLength, experts}, 3);
  std::int64_t leaving = 0, coming = 0, to = 0, from = 0;
  {
    plain::Gate plain;
    const plain::Gated all = plain::gated(plain, logits.view({-1, experts}));
    std::vector<std::int64_t> sent(static_cast<std::size_t>(p), 0), got(static_cast<std::size_t>(p), 0);
    for (std::size_t n = 0; n < all.choices.size(); ++n) {
      const int owner = static_cast<int>(n) / (2 * static_cast<int>(kLength));
      for (const std::int64_t e : all.choices[n]) {
        const int at = static_cast<int>(e / 2);
        if (owner == mesh.rank() && at != owner) ++sent[static_cast<std::size_t>(at)];
        if (at == mesh.rank() && at != owner) ++got[static_cast<std::size_t>(owner)];
      }
    }
    for (const std::int64_t rows : sent) leaving += rows, to += rows > 0;
    for (const std::int64_t rows : got) coming += rows, from += rows > 0;
  }
  const Vector x = leaf(X, draws(X.shape(), 4));
  Chain chain;
  const Routing routing = gate(distribute(Space(mesh, {2 * p, kLength, experts}).sharded(0, "ep"), logits));
  Counters::instance().reset();
  const Vector y = layer(x, routing);
  auto forward = Counters::instance().by_operation();
  const std::int64_t there = leaving * (kWidth + 1), back = coming * kWidth;
  EXPECT_EQ(Counters::instance().total().elements, there + back + (p - 1) * experts);
  EXPECT_EQ(Counters::instance().total().messages, to + from + (p - 1));
  EXPECT_EQ(forward["RowCounts"],
            p > 1 ? (Traffic{(p - 1) * experts, 8 * (p - 1) * experts, p - 1}) : Traffic{});
  Counters::instance().reset();
  backward(y, Vector(dual(y.space()), y.local().detach()));
  EXPECT_EQ(Counters::instance().total().elements, leaving * kWidth + coming * (kWidth + 1));
  EXPECT_EQ(Counters::instance().total().messages, to + from);
}

/// So backward ends behind them, on every worker: it has nothing to send.
TEST(Experts, ThatAreFrozenMakeAConstantOfConstants) {
  const Partition mesh = Partition::world().grid({{"ep", Runtime::size()}});
  const Space X = Space(mesh, {2 * mesh.size(), kLength, kWidth}).sharded(0, "ep");
  const Space L = Space(mesh, {2 * mesh.size(), kLength, 3}).sharded(0, "ep");
  for (const bool frozen : {true, false}) {
    Experts layer("experts", X, {"ep"}, {.experts = 3, .inner = 4});
    layer.initialise(kSeed, at::kDouble);
    if (frozen)
      layer.freeze();
    else
      freeze_all_but(layer, {"experts.0.w2.weight"});
    TopKGate gate("gate", mesh, 3, {.k = 2});
    const Chain chain;
    const at::Tensor before = Chain::current()->token();
    const Routing routing = gate(constant(distribute(L, draws(L.shape(), 3))));
    const Vector y = layer(constant(distribute(X, draws(X.shape(), 4))), routing);
    EXPECT_EQ(y.is_constant(), frozen);
    EXPECT_EQ(y.local().requires_grad(), !frozen);
    EXPECT_EQ(Chain::current()->token().is_same(before), frozen || mesh.size() == 1);  // one sends nothing
    EXPECT_FALSE(layer(leaf(X, draws(X.shape(), 4)), routing).is_constant());
  }
}

TEST(Experts, RefuseWhatDoesNotFit) {
  const Partition world = Partition::world();
  const Space X(world, {4, 3, kWidth});
  EXPECT_ERROR(Experts("experts", X, {"world", {"world"}}, {.inner = 4}), "axis world is given both");
  EXPECT_ERROR(Experts("experts", X, {"world"}, {.experts = 0, .inner = 4}), "0 experts");
  EXPECT_ERROR(Experts("experts", Space(world, {kWidth}), {"world"}, {.inner = 4}), "tokens of (…, width)");
  EXPECT_ERROR(Experts("experts", X, {"world"}, {.inner = 4, .up_bias = "bias"}), "gated and have a bias");
  if (world.size() == 1) return;
  Experts layer("experts", X, {"world"}, {.experts = 3, .inner = 4});
  layer.initialise(kSeed, at::kDouble);
  TopKGate gate("gate", world, 3);
  const Routing elsewhere = gate(Vector(Space(world, {4, 3, 3}), at::zeros({4, 3, 3}, at::kDouble)));
  const at::NoGradGuard no_gradient;
  EXPECT_ERROR(layer(distribute(X, draws({4, 3, kWidth}, 1)), elsewhere), "gates of their tokens",
               "gates_space");
}

}  // namespace
}  // namespace riesz::testing
