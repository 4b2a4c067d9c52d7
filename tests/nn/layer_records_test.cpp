// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// All that a layer sends is recorded as its own: forward, backward, and what backward puts off.
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "riesz/comm/counters.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

using Sums = std::map<std::string, Traffic>;

/// Counters keep records while it lives.
class LayerRecords : public ::testing::Test {
 protected:
  LayerRecords() {
    Counters::instance().reset();
    Counters::instance().record(true);
  }
  ~LayerRecords() override { Counters::instance().record(false); }

  /// By layer and phase.
  static Sums sums() {
    Sums sums;
    for (const TrafficRecord& r : Counters::instance().records())
      sums[r.origin.layer + " " + to_string(r.origin.phase)] += r.traffic;
    return sums;
  }

  static void pull_back(const Vector& y, const Vector& x) {
    pullback(y, Vector(dual(y.space()), at::ones_like(y.local())), {x});
  }

  /// Of so many elements in fp64, in messages to all others.
  Traffic payloads(std::int64_t elements) const {
    const std::int64_t others = world.size() - 1;
    return others == 0 ? Traffic{} : Traffic{others * elements, 8 * others * elements, others};
  }

  Partition world = Partition::world();
  std::int64_t p = world.size();
};

/// Each worker's weights are 2 of 2p columns, gathered to be read.
struct Fsdp {
  explicit Fsdp(const Partition& world)
      : X(Space(world, {world.size(), 2 * world.size()}).sharded(0, "world")),
        Y(Space(world, {world.size(), 3}).sharded(0, "world")),
        up("up", "bi,oi->bo", X, Space(world, {3, 2 * world.size()}).sharded(1, "world"), Y, {.bias = false}),
        x(X, at::ones(X.local_shape(), at::kDouble).requires_grad_()) {
    up.initialise(1, at::kDouble);
  }

  Space X, Y;
  Linear up;
  Vector x;
};

TEST_F(LayerRecords, OfAContraction) {
  if (p == 1) return;
  Fsdp fsdp(world);
  Chain chain;

  pull_back(fsdp.up(fsdp.x), fsdp.x);

  // The weights go out once more in backward, and their gradients' terms come home.
  EXPECT_EQ(sums(), (Sums{{"up forward", payloads(6)}, {"up backward", payloads(6) + payloads(6)}}));
}

TEST_F(LayerRecords, OfAGradientPutOff) {
  if (p == 1) return;
  Fsdp fsdp(world);
  DeferredGradients later;
  Chain chain;

  pull_back(fsdp.up(fsdp.x), fsdp.x);

  EXPECT_EQ(sums(), (Sums{{"up forward", payloads(6)}, {"up backward", payloads(6)}}));
  const LayerScope elsewhere("elsewhere", Phase::update);
  later.compute();
  EXPECT_EQ(sums(), (Sums{{"up forward", payloads(6)}, {"up backward", payloads(6) + payloads(6)}}));
}

TEST_F(LayerRecords, OfARing) {
  if (p == 1) return;
  const Space S = Space(world, {2, 3 * p, 2, 4}).sharded(1, "world");
  const auto ones = [&] { return Vector(S, at::ones(S.local_shape(), at::kDouble).requires_grad_()); };
  const Vector q = ones();
  Chain chain;
  const Vector y = [&] {
    const LayerScope layer("attn");
    return attention(q, ones(), ones());
  }();

  pull_back(y, q);

  Sums all = sums();
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all["attn forward"].elements, (p - 1) * 2 * 2 * 3 * 2 * 4);
  EXPECT_EQ(all["attn backward"].elements, (p - 1 + p) * 2 * 2 * 3 * 2 * 4);
}

}  // namespace
}  // namespace riesz::testing
