// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every message is counted on behalf of the layer that called the operator: in the background and in backward
// too.
#include "riesz/primitives/node.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Sums = std::map<std::pair<std::string, Phase>, Traffic>;

/// By layer and phase, counted until `stop`.
class Recorded {
 public:
  Recorded() {
    Counters::instance().reset();
    Counters::instance().record(true);
  }
  Sums stop() {
    Sums sums;
    for (const TrafficRecord& r : Counters::instance().records())
      sums[{r.origin.layer, r.origin.phase}] += r.traffic;
    Counters::instance().record(false);
    return sums;
  }
};

/// Partial → Copied, which is its own adjoint: two rounds of messages either way.
struct Case {
  Partition P = Partition::world();
  Space X = Space(P, {7, 3}).partial("world");
  Operator A = between(X, Space(P, {7, 3}).copied("world"));
  Vector x = Vector(X, at::ones({7, 3}, at::kDouble).requires_grad_());
  Traffic cost = [this] {
    Traffic elements = A.traffic(P.rank());
    elements.bytes = 8 * elements.elements;
    return elements;
  }();
};

TEST(Node, OfACall) {
  if (Runtime::size() == 1) return;
  const Case c;
  Chain chain;
  Recorded recorded;
  Vector y = [&] {
    const LayerScope layer("called");
    return c.A(c.x);
  }();

  pullback(y, Vector(dual(y.space()), at::ones_like(y.local())), {c.x});

  EXPECT_EQ(recorded.stop(),
            (Sums{{{"called", Phase::forward}, c.cost}, {{"called", Phase::backward}, c.cost}}));
}

TEST(Node, OfAStartWhoeverMovesItOn) {
  if (Runtime::size() == 1) return;
  const Case c;
  for (int time = 0; time < 20; ++time) {  // now the background is the faster, now the wait
    Chain chain;
    Recorded recorded;
    Pending pending = [&] {
      const LayerScope layer("started");
      return c.A.start(c.x);
    }();
    const LayerScope elsewhere("waits");
    const Vector y = pending.wait();

    pullback(y, Vector(dual(y.space()), at::ones_like(y.local())), {c.x});

    Sums sums = recorded.stop();
    EXPECT_EQ((sums[{"started", Phase::forward}]), c.cost);
    Traffic backward;
    for (const auto& [origin, traffic] : sums) {
      if (origin.second == Phase::backward) backward += traffic;
    }
    EXPECT_EQ(backward, c.cost);
  }
}

TEST(Node, OfSeveralTogether) {
  if (Runtime::size() == 1) return;
  const Case c;
  Chain chain;
  Recorded recorded;
  const std::vector<Vector> ys = [&] {
    const LayerScope layer("both");
    return together({c.A, c.A}, {c.x, c.x});
  }();
  const Vector sum = ys[0] + ys[1];

  pullback(sum, Vector(dual(sum.space()), at::ones_like(sum.local())), {c.x});

  Sums sums = recorded.stop();
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ((sums[{"both", Phase::forward}].elements), 2 * c.cost.elements);
  EXPECT_EQ((sums[{"both", Phase::backward}].elements), 2 * c.cost.elements);
}

TEST(Node, IsEmptyOutsideLayers) {
  if (Runtime::size() == 1) return;
  const Case c;
  Chain chain;
  Recorded recorded;
  const Vector y = c.A(c.x);

  pullback(y, Vector(dual(y.space()), at::ones_like(y.local())), {c.x});

  EXPECT_EQ(recorded.stop(), (Sums{{{"", Phase::forward}, c.cost}, {{"", Phase::backward}, c.cost}}));
}

class NoGradient : public detail::Node {
 public:
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    return {at::ones_like(inputs[0])};
  }
  std::vector<at::Tensor> backward(std::vector<at::Tensor> /*gradients*/) override {
    throw_error("there is no gradient");
  }
};

TEST(Node, NamesTheLayerOfAnErrorInBackward) {
  const at::Tensor x = at::ones({2}).requires_grad_();
  const at::Tensor y = [&] {
    const LayerScope layer("called");
    return detail::record(std::make_shared<NoGradient>(), {x})[0];
  }();

  EXPECT_ERROR(y[0].backward(), "there is no gradient");
  EXPECT_EQ(LayerScope::left_by_exception(), "called");
}

}  // namespace
}  // namespace riesz::testing
