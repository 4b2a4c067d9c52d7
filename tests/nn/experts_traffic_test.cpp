// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What experts send, and what they refuse.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "expect.h"
#include "plain_experts.h"
#include "program_traffic.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/freeze.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kLength = 3, kWidth = 5;
constexpr std::uint64_t kSeed = 11;

/// Rows that this worker sends to experts elsewhere, and gets, and the workers that get any, and send any.
struct RowsSent {
  std::int64_t out = 0, in = 0, to = 0, from = 0;
};

/// Of tokens that lie over p workers, two sequences on each. A choice is a row for each part of its expert.
RowsSent rows_sent(const plain::Gated& all, const ExpertParts& parts, int me) {
  const auto p = static_cast<std::size_t>(parts.workers());
  std::vector<std::int64_t> sent(p, 0), got(p, 0);
  for (std::size_t n = 0; n < all.choices.size(); ++n) {
    const int owner = static_cast<int>(n) / (2 * static_cast<int>(kLength));
    for (const std::int64_t e : all.choices[n]) {
      for (int at = 0; at < parts.workers(); ++at) {
        if (at == owner || parts.inner_of(e)[at].size() == 0) continue;
        if (owner == me) ++sent[static_cast<std::size_t>(at)];
        if (at == me) ++got[static_cast<std::size_t>(owner)];
      }
    }
  }
  RowsSent of;
  for (const std::int64_t rows : sent) of.out += rows, of.to += rows > 0;
  for (const std::int64_t rows : got) of.in += rows, of.from += rows > 0;
  return of;
}

/// Forward: tokens and gate values there, tokens back; backward the same, and no counts. Whole experts, and
/// experts that workers share. Beside another function gate values have messages of their own.
TEST(Experts, SendWhatTheRoutingSays) {
  const int p = Runtime::size();
  const Partition mesh = Partition::world().grid({{"ep", p}});
  const Space X = Space(mesh, {2 * p, kLength, kWidth}).sharded(0, "ep");
  const std::function<Vector(const Vector&)> same = [](const Vector& v) { return v; };
  for (const std::int64_t experts : {2 * p, 2}) {
    Experts layer("experts", X, {"ep"}, {.experts = experts, .inner = 4});
    layer.initialise(kSeed, at::kDouble);
    TopKGate gate("gate", mesh, experts, {.k = 2});
    const at::Tensor logits = draws({2 * p, kLength, experts}, 3);
    const RowsSent rows =
        rows_sent(plain::gated({}, logits.view({-1, experts})), ExpertParts(experts, 4, p), mesh.rank());
    for (const bool beside : {false, true}) {
      const Vector x = leaf(X, draws(X.shape(), 4));
      Chain chain;
      const Routing routing =
          gate(distribute(Space(mesh, {2 * p, kLength, experts}).sharded(0, "ep"), logits));
      Counters::instance().reset();
      const Vector y = beside ? layer(x, routing, same) : layer(x, routing);
      auto forward = Counters::instance().by_operation();
      const std::int64_t there = rows.out * (kWidth + 1), back = rows.in * kWidth, apart = beside ? 2 : 1;
      EXPECT_EQ(program_traffic().elements, there + back + (p - 1) * experts);
      EXPECT_EQ(program_traffic().messages, apart * rows.to + rows.from + (p - 1));
      EXPECT_EQ(forward["RowCounts"],
                p > 1 ? (Traffic{(p - 1) * experts, 8 * (p - 1) * experts, p - 1}) : Traffic{});
      Counters::instance().reset();
      backward(y, Vector(dual(y.space()), y.local().detach()));
      EXPECT_EQ(program_traffic().elements, rows.out * kWidth + rows.in * (kWidth + 1));
      EXPECT_EQ(program_traffic().messages, rows.to + apart * rows.from);
    }
  }
}

/// Forward the result is summed, backward the gradients of tokens and of gate values.
TEST(Experts, SumOverTheirInnerWidth) {
  const Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});
  const Space X(mesh, {4, kLength, kWidth}), L(mesh, {4, kLength, 3}), G(mesh, {4, kLength, 2});
  Experts layer("experts", X, {"", {"tp"}}, {.experts = 3, .inner = 4});
  layer.initialise(kSeed, at::kDouble);
  TopKGate gate("gate", mesh, 3, {.k = 2});
  const Vector x = leaf(X, draws(X.shape(), 4));
  Chain chain;
  const Routing routing = gate(leaf(L, draws(L.shape(), 3)));
  const auto expect_sums = [&](const std::vector<Space>& of) {
    Traffic all;
    for (const Space& S : of) all += map_to_space(S.partial("tp"), S).traffic(mesh.rank());
    EXPECT_EQ(program_traffic().elements, all.elements);
    EXPECT_EQ(program_traffic().messages, all.messages);
    Counters::instance().reset();
  };
  Counters::instance().reset();
  const Vector y = layer(x, routing);
  expect_sums({X});
  backward(y, Vector(dual(y.space()), y.local().detach()));
  expect_sums({X, G});
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
  EXPECT_ERROR(layer(distribute(X, draws({4, 3, kWidth}, 1)), elsewhere), "gate values of their tokens",
               "gate_space");
}

}  // namespace
}  // namespace riesz::testing
