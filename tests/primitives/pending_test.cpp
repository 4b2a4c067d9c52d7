// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Start and wait: communication goes on while the program computes, in forward and in backward.
#include "riesz/primitives/pending.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "random_spaces.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"
#include "riesz/testing/custom_primitive.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const std::vector<Placement> kAll{Placement::Replicated, Placement::Copied, Placement::Partial};

/// A transport that counts the rounds it finished, and finishes none while `held`.
class Gate final : public Transport {
 public:
  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<Gated>(*this, inner_.post(std::move(sends), std::move(receives)));
  }

  std::atomic<bool> held = false;
  std::atomic<int> finished = 0;

 private:
  class Gated final : public Requests {
   public:
    Gated(Gate& gate, std::unique_ptr<Requests> inner) : gate_(gate), inner_(std::move(inner)) {}
    bool done() override {
      if (gate_.held || !inner_->done()) return false;
      if (!std::exchange(counted_, true)) ++gate_.finished;
      return true;
    }
    std::vector<int> unfinished() const override { return inner_->unfinished(); }

   private:
    Gate& gate_;
    std::unique_ptr<Requests> inner_;
    bool counted_ = false;
  };

  MpiTransport inner_;
};

/// The job's communicator over a gate, for a test's life.
class PendingTest : public ::testing::Test {
 protected:
  PendingTest() {
    auto gate = std::make_unique<Gate>();
    gate_ = gate.get();
    kept_ = set_world_communicator(std::make_unique<Communicator>(std::move(gate)));
  }
  ~PendingTest() override {
    finish_background();
    set_world_communicator(std::move(kept_));
  }

  /// Computes, without a call of Riesz, until so many rounds have ended in the background.
  void compute_until(int rounds) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (gate_->finished < rounds && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_GE(gate_->finished, rounds) << "nothing moved in the background";
  }

  Gate* gate_;

 private:
  std::unique_ptr<Communicator> kept_;
};

TEST_F(PendingTest, IsTheCallInTwoHalvesForEveryMove) {
  RandomSpaces random(7);
  const Partition world = Partition::world();
  for (int i = 0; i < 40; ++i) {
    const Space X = random.shape(random.grid(world));
    const Operator A = between(random.place(X, kAll), random.place(X, kAll));
    SCOPED_TRACE(to_string(A));
    const Vector x = random_vector(A.domain(), 3, true);
    const Vector ybar = random_vector(dual(A.range()), 4, true);
    Chain chain;
    const Vector one(x.space(), x.local().clone().requires_grad_());
    const Vector two(x.space(), x.local().clone().requires_grad_());
    Counters::instance().reset();
    const Vector y = A(one);
    const Vector xbar = pullback(y, ybar, {one}).front();
    const Traffic whole = Counters::instance().total();
    Counters::instance().reset();

    Pending pending = A.start(two);
    const Vector z = pending.wait();
    EXPECT_SAME_BITS(z.local(), y.local());
    EXPECT_SAME_BITS(pullback(z, ybar, {two}).front().local(), xbar.local());
    EXPECT_EQ(Counters::instance().total(), whole);

    const at::NoGradGuard guard;
    EXPECT_SAME_BITS(A.start(x).wait().local(), y.local());
  }
}

TEST_F(PendingTest, SeveralAreUnderWayAndAreWaitedForInAnyOneOrder) {
  const Partition world = Partition::world();
  const Space X = Space(world, {13, 2}).sharded(0, "world");
  const Operator gather = between(X, Space(world, {13, 2}).copied("world"));
  const Operator sum = between(Space(world, {13, 2}).partial("world"), Space(world, {13, 2}).copied("world"));
  const auto leaf = [](const Vector& x) { return Vector(x.space(), x.local().clone().requires_grad_()); };
  const Vector a = leaf(random_vector(X, 1));
  const Vector b = leaf(random_vector(sum.domain(), 2));
  const Vector abar = random_vector(dual(gather.range()), 3);
  Chain chain;

  Pending first = gather.start(a);
  Pending second = sum.start(b);
  const Vector y = sum(b);  // a call between
  const Vector z = second.wait();
  const Vector w = first.wait();

  EXPECT_SAME_BITS(z.local(), y.local());
  EXPECT_SAME_BITS(w.local(), gather(a).local());
  chain.restart();
  Pending third = gather.start(a);
  Pending fourth = sum.start(b);
  const Vector u = fourth.wait();
  const Vector v = third.wait();
  const std::vector<Vector> bars = pullback(u + v, abar, {a, b});
  const at::NoGradGuard guard;
  EXPECT_SAME_BITS(bars[0].local(), adjoint(gather)(abar).local());
  EXPECT_SAME_BITS(bars[1].local(), adjoint(sum)(abar).local());
}

TEST_F(PendingTest, MessagesMoveWhileTheProgramComputesInForwardAndInBackward) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Space X = Space(world, {8, 2000}).partial("world");
  const Operator sum = between(X, Space(world, {8, 2000}).copied("world"));  // two rounds of messages
  const Vector x(X, random_vector(X, 1).local().requires_grad_());
  Chain chain;
  gate_->held = true;

  Pending pending = sum.start(x);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(gate_->finished, 0);
  gate_->held = false;
  compute_until(2);
  EXPECT_EQ(gate_->finished, 2);
  const Vector y = pending.wait();

  // Between the halves of forward stands a point-wise function; its backward is computed between those of
  // backward.
  Pending again = sum.start(y.space() == X ? y : Vector(X, y.local()));
  bool passed = false;
  const at::Tensor between_halves = x.local().mul(1);
  between_halves.register_hook([&](const at::Tensor&) {
    compute_until(6);
    passed = true;
  });
  const Vector z = again.wait();
  const Vector all = z + Vector(z.space(), between_halves);
  pullback(all, random_vector(dual(all.space()), 2), {x});
  EXPECT_TRUE(passed);
}

TEST_F(PendingTest, DroppedWithoutWaitItCompletesAndGivesNoGradient) {
  const Partition world = Partition::world();
  const Space X = Space(world, {10'000}).partial("world");
  const Operator sum = between(X, Space(world, {10'000}).copied("world"));
  const Vector x(X, random_vector(X, 1).local().requires_grad_());
  Chain chain;

  { const Pending dropped = sum.start(x); }
  const Vector y = sum(x);  // what follows is not disturbed
  const Vector ybar = random_vector(dual(y.space()), 2);
  const Vector xbar = pullback(y, ybar, {x}).front();
  finish_background();

  EXPECT_EQ(gate_->finished, world.size() > 1 ? 6 : 0);
  const at::NoGradGuard guard;
  EXPECT_SAME_BITS(xbar.local(), adjoint(sum)(ybar).local());
  { const Pending dropped = sum.start(x); }
}

TEST_F(PendingTest, StepsThatCanOnlyBeAppliedHappenAtTheStartInTheirPlace) {
  const Partition world = Partition::world();
  const Space S = Space(world, {7}).sharded(0, "world");
  const Space C = Space(world, {7}).copied("world");
  const Space T = Space(world, {7}).partial("world");
  const Step sum = primitives::all_reduce(T, C, {0});
  const std::function<Step()> whole = [&] {  // its own adjoint, and nothing to start
    return custom(
        "Sum", T, C, [sum](const at::Tensor& x) { return sum->apply(x); }, whole);
  };
  const Operator terms(C, T,
                       {custom(
                           "Terms", C, T, [](const at::Tensor& x) { return x; },
                           [&] {
                             return custom(
                                 "Terms", C, T, [](const at::Tensor& x) { return x; }, whole);
                           })});
  const Operator A = between(T, C) * terms * Operator(T, C, {whole()}) * terms * between(S, C);
  const Operator B = between(T, C) * terms * between(T, C) * terms * between(S, C);
  const at::NoGradGuard guard;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Vector x = random_vector(S, 2 * round);
    const Vector z = random_vector(S, 2 * round + 1);

    Pending first = A.start(x);
    Pending second = B.start(z);
    const Vector y = A(x);
    const Vector w = B(z);

    EXPECT_SAME_BITS(second.wait().local(), w.local());
    EXPECT_SAME_BITS(first.wait().local(), y.local());
  }
}

TEST_F(PendingTest, IsDifferentiableAgain) {
  const Partition world = Partition::world();
  const Space X = Space(world, {6}).sharded(0, "world");
  const Operator gather = between(X, Space(world, {6}).copied("world"));
  const Vector x(X, random_vector(X, 1).local().requires_grad_());
  const Vector v = random_vector(X, 2);
  const auto gradient_of_cubes = [&](bool halves) {
    Chain chain;
    const Vector y = halves ? gather.start(x).wait() : gather(x);
    const Vector cubes(y.space(), y.local().pow(3));
    const Vector g = pullback(cubes, Vector(dual(y.space()), at::ones_like(y.local())), {x}, true).front();
    return pullback(g, Vector(dual(g.space()), v.local()), {x}).front().local();
  };
  EXPECT_SAME_BITS(gradient_of_cubes(true), gradient_of_cubes(false));
}

TEST_F(PendingTest, IsWaitedForOnceAsItWasStarted) {
  const Partition world = Partition::world();
  const Space X = Space(world, {5}).partial("world");
  const Operator sum = between(X, Space(world, {5}).copied("world"));
  const Vector x = random_vector(X, 1);
  {
    const at::NoGradGuard guard;
    Pending pending = sum.start(x);
    pending.wait();
    EXPECT_ERROR(pending.wait(), "waited for before");
    EXPECT_ERROR(sum.start(random_vector(sum.range(), 1)).wait(), "has the domain", "bring it there");
  }
  if (world.size() == 1) return;
  Chain chain;
  Pending pending = sum.start(x);
  const at::NoGradGuard guard;
  EXPECT_ERROR(pending.wait(), "AllReduce over world", "must be waited for in the same way");
}

TEST_F(PendingTest, IsWaitedForInTheRecordingThatItWasStartedIn) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Space X = Space(world, {5}).partial("world");
  const Operator sum = between(X, Space(world, {5}).copied("world"));
  const Vector x(X, random_vector(X, 1).local().requires_grad_());
  std::optional<Chain> chain;
  chain.emplace();
  Pending before = sum.start(x);
  chain.reset();
  chain.emplace();  // another, where the first one was
  EXPECT_ERROR(before.wait(), "AllReduce over world", "must be waited for in the same way");

  Pending cut_off = sum.start(x);
  chain->restart();
  EXPECT_ERROR(cut_off.wait(), "AllReduce over world", "must be waited for in the same way");

  Pending third = sum.start(x);
  EXPECT_NO_THROW(third.wait());
}

TEST_F(PendingTest, SaysThatWhatItSendsWasWritten) {
  const at::NoGradGuard no_gradient;
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Space X = Space(world, {5}).partial("world");
  const Operator sum = between(X, Space(world, {5}).copied("world"));

  const Vector x = random_vector(X, 1);
  Pending pending = sum.start(x);
  x.local().add_(1);
  EXPECT_ERROR(pending.wait(), "AllReduce over world", "x was written between start and wait", "x.clone()");

  // Of memory that others have too, only the values tell.
  const auto written = [&](std::int64_t begin) {
    const at::Tensor both = at::cat({random_vector(X, 2).local(), random_vector(X, 3).local()});
    Pending half = sum.start({X, both.narrow(0, 0, 5)});
    both.narrow(0, begin, 5).add_(1);
    return half;
  };
  EXPECT_NO_THROW(written(5).wait());
  const bool checked = consistency_checks();
  set_consistency_checks(true);
  Pending beside = written(5);
  Pending within = written(0);
  set_consistency_checks(checked);
  EXPECT_NO_THROW(beside.wait());
  EXPECT_ERROR(within.wait(), "x was written between start and wait");
}

TEST_F(PendingTest, BetweenPartitionsLeavesXToTheProgram) {
  const at::NoGradGuard no_gradient;
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Space X = Space(world.subset({0}), {5});
  const Operator send = between(X, Space(world.subset({world.size() - 1}), {5}));
  const at::Tensor given = at::ones(X.local_shape(), at::kDouble);
  Pending pending = send.start({X, given});
  given.add_(1);
  const Vector y = pending.wait();
  EXPECT_TRUE(at::equal(y.local(), at::ones_like(y.local())));
}

}  // namespace
}  // namespace riesz::testing
