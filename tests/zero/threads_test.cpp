// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Two threads at one model that a Zero shards.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

/// A layer that does something in the midst of its call.
class Amidst : public Layer<Amidst> {
 public:
  Amidst(const Space& X, std::function<void()> then)
      : Layer("amidst"), linear_({*this, "linear"}, "bi,io->bo", X, X), then_(std::move(then)) {}
  Vector forward(const Vector& x) {
    const Vector y = linear_(x);
    if (then_) std::exchange(then_, nullptr)();
    return linear_(y);
  }
  std::string describe() const override { return "a layer"; }

 private:
  Linear linear_;
  std::function<void()> then_;
};

/// What a step of a sharded model moves in which other threads call it, if `refused` also some whose calls are errors.
Traffic moved_by_a_step(const Partition& mesh, int stage, bool refused) {
  const Space X(mesh, {4, 6});
  Amidst* layer = nullptr;
  const auto another = [&] {
    const Chain chain(7);
    EXPECT_ERROR((*layer)(distribute(X, at::ones({4, 6}))), "amidst.linear", "another thread is in a call",
                 "take turns");
  };
  std::promise<void> amidst;
  Thread beside([&, go = amidst.get_future().share()] {
    go.wait();
    if (refused) another();
  });
  Amidst model(X, [&] {
    if (refused) std::thread(another).join();
    amidst.set_value();
    beside.join();
    Thread([&] {
      const at::NoGradGuard no_gradient;
      EXPECT_EQ((*layer)(distribute(X, at::ones({4, 6}))).local().size(0), 4);
    }).join();
    if (refused) std::thread(another).join();  // the call still goes on
  });
  layer = &model;
  model.initialise(1, at::kFloat);
  const Zero zero(model.parameters(), {.stage = stage});
  const Traffic before = Counters::instance().total();
  const Chain chain;
  const Vector y = model(distribute(X, at::ones({4, 6})));
  backward(y, Vector(dual(y.space()), at::ones({4, 6})));
  std::thread([&] {  // one after the other they are welcome
    const at::NoGradGuard no_gradient;
    EXPECT_EQ(model(distribute(X, at::ones({4, 6}))).local().size(0), 4);
  })
      .join();
  zero.store()->shares();
  return Counters::instance().total() - before;
}

/// Threads that do not take turns: the second is refused before anything moves, and the first goes on. A
/// `Thread` is one of them, unless the call itself has made it.
TEST(Zero, RefusesASecondThreadInTheMidstOfACall) {
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  if (mesh.size() == 1) return;  // nothing is gathered or reduced there: threads may be in calls at once
  for (const int stage : {1, 3}) {
    const Traffic alone = moved_by_a_step(mesh, stage, false);
    EXPECT_GT(alone.messages, 0);
    EXPECT_EQ(moved_by_a_step(mesh, stage, true), alone);
  }
}

}  // namespace
}  // namespace riesz::testing
