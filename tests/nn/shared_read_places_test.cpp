// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Contractions of one x in the midst of what else a program does: on threads, between the halves of calls, in
// regions that are run again, and where some workers have no part of x.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "expect.h"
#include "of_one_x.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/call_scope.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kHeld = 3 * 8;  // elements of x on a worker

std::int64_t gather() { return (all_workers().size() - 1) * kHeld; }

std::int64_t sent(const std::function<void()>& f) {
  const Traffic before = Counters::instance().total();
  f();
  return (Counters::instance().total() - before).elements;
}

/// One after the other, so that workers agree on the order; what either thread has read stays its own.
TEST(SharedReadPlaces, AThreadsReadsAreItsOwnAndStayThere) {
  const OfOneX s = sequence_parallel();
  const auto read = [&](std::size_t i) { return sent([&] { s.forms[i](s.x, s.ws[i]); }); };
  for (const bool recorded : {true, false}) {
    const at::AutoGradMode mode(recorded);
    const Chain chain;
    const CallScope layer(nullptr);
    EXPECT_EQ(read(0), gather());
    std::thread([&] {
      at::init_num_threads();
      const at::AutoGradMode of_thread(recorded);
      const Chain other;
      const CallScope of_other(nullptr);
      EXPECT_EQ(read(0), gather());
      EXPECT_EQ(read(1), 0);
    }).join();
    EXPECT_EQ(read(1), 0);
    EXPECT_EQ(read(2), 0);
  }
}

/// A call is under way meanwhile, in backward too, and several are made at once.
TEST(SharedReadPlaces, BetweenTheHalvesOfACallAndBesideSeveralAtOnce) {
  const OfOneX s = sequence_parallel();
  const Space Z = Space(all_workers(), {3 * all_workers().size(), 8}).copied("world");
  const Operator gathering = between(s.x.space(), Z);
  const auto amid = [&](Handles handles) {
    Chain chain;
    const auto x = [&] { return handles == Handles::one ? s.x : Vector(s.x.space(), s.x.local()); };
    std::vector<Vector> ys{s.forms[0](x(), s.ws[0])}, ybars = s.ybars;
    Pending pending = gathering.start(s.x);
    ys.push_back(s.forms[1](x(), s.ws[1]));
    const std::vector<Vector> both = together({gathering, gathering}, {s.x, s.x});
    ys.push_back(s.forms[2](x(), s.ws[2]));
    ys.insert(ys.end(), both.begin(), both.end());
    ys.push_back(pending.wait());
    for (std::uint64_t seed = 5; ybars.size() < ys.size(); ++seed)
      ybars.push_back(random_vector(dual(Z), seed, true));
    pull_back(ys, ybars);
    return taken_gradients(s);
  };
  std::vector<at::Tensor> shared, apart;
  const std::int64_t of_one = sent([&] { shared = amid(Handles::one); });
  const std::int64_t of_each = sent([&] { apart = amid(Handles::each); });
  expect_close(shared, apart);
  EXPECT_EQ(of_each - of_one, 6 * gather()) << "two gathers and two more of backward, and two sums";
}

/// As recomputing does: what a region made is let go, and backward runs it once more, in a chain of its own.
TEST(SharedReadPlaces, InARegionThatBackwardRunsAgain) {
  const OfOneX s = sequence_parallel();
  const Outcome expected = run(s, Handles::each);
  Chain outer;
  std::int64_t again = 0;
  {
    const at::NoGradGuard no_gradient;
    const CallScope region(nullptr);
    EXPECT_EQ(sent([&] { s.values(Handles::one); }), gather());
  }
  outer.on_backward([&] {
    const at::AutoGradMode recorded(true);
    Chain inner;
    again = sent([&] { pull_back(s.values(Handles::one), s.ybars); });
  });
  const Vector y = s.forms[0](s.x, s.ws[0]);  // of the same x, in the outer chain
  pull_back({y}, {Vector(s.ybars[0].space(), s.ybars[0].local().mul(0))});
  EXPECT_EQ(again, 3 * gather()) << "one gather, one in backward, and one sum";
  expect_close(taken_gradients(s), expected.gradients);
}

/// A worker that keeps records of what it sends sends no less.
TEST(SharedReadPlaces, InBackwardOutsideOfLayersWhereOneWorkerKeepsRecords) {
  const OfOneX s = sequence_parallel();
  Chain chain;
  const at::Tensor expected = s.forms[0](s.x, s.ws[0]).local();
  chain.on_backward([&] {
    for (const bool in_layers : {true, false}) {
      std::optional<LayerScope> layer;
      if (in_layers) layer.emplace("first");
      expect_close({s.forms[0](s.x, s.ws[0]).local()}, {expected}, 0);
      if (in_layers) layer.reset(), layer.emplace("second");
      expect_close({s.forms[0](s.x, s.ws[0]).local()}, {expected}, 0);
    }
  });
  if (all_workers().rank() == 0) Counters::instance().record(true);
  pull_back({}, {});
  Counters::instance().record(false);
}

/// A norm gives workers that have no part of x the x that it was given: one handle there, two elsewhere.
TEST(SharedReadPlaces, OfVectorsThatSomeWorkersHaveNoPartOf) {
  const Partition first = all_workers().subset({0});
  const Space X(first, {5, 4});
  RmsNorm norm("norm", X);
  norm.initialise(1, at::kDouble);
  const Space W = Space(all_workers(), {6, 4}).sharded(0, "world"),
              Y = Space(all_workers(), {5, 6}).sharded(1, "world");
  const Contraction form("bi,oi->bo", X, W, Y);
  const Vector x = leaf(X, draws({5, 4}, 1)), w = leaf(W, draws({6, 4}, 2));
  const auto gradients = [&](bool own_handle) {
    Chain chain;
    const Vector n = norm(x);
    const Vector of_x = form(x, w);
    const Vector of_n = form(own_handle ? Vector(n.space(), n.local()) : n, w);
    std::vector<at::Tensor> results{of_x.local().detach(), of_n.local().detach()};
    const Vector ybar = distribute(dual(Y), draws({5, 6}, 3));
    for (const Vector& g : pullback(of_x + of_n, ybar, {x, w})) results.push_back(g.local());
    return results;
  };
  expect_close(gradients(false), gradients(true), 0);
}

/// Of those nobody counts the writes.
TEST(SharedReadPlaces, OfTensorsOfInferenceMode) {
  const OfOneX s = sequence_parallel();
  const c10::InferenceMode inference;
  const CallScope layer(nullptr);
  const Vector x(s.x.space(), s.x.local().detach().clone());
  const Vector before = s.forms[0](x, s.ws[0]);
  x.local().mul_(2);
  EXPECT_TRUE(is_close(s.forms[0](x, s.ws[0]).local(), before.local().mul(2)));
}

}  // namespace
}  // namespace riesz::testing
