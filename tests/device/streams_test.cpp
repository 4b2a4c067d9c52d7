// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Operations that go on in other threads, and are waited for in other streams than those in which they began.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"
#include "riesz/nn/contraction/compute_copy.h"
#include "riesz/primitives/application.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/pending.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

c10::impl::VirtualGuardImpl device_guard() { return c10::impl::VirtualGuardImpl(pretend_device().type()); }
c10::Stream current_stream() { return device_guard().getStream(pretend_device()); }
c10::Stream new_stream() { return device_guard().getNewStream(pretend_device()); }

/// Streams run what somebody waits for, and nothing sooner.
class Streams : public ::testing::Test {
 protected:
  void TearDown() override { finish_pretend_work(); }
  LatenessScope latest_{Lateness::latest};
};

const at::TensorOptions kNumbers = at::TensorOptions().device(pretend_device()).dtype(at::kDouble);

double sum_over_ranks() { return Runtime::size() * (Runtime::size() + 1) / 2.; }

/// A weight's copy in the compute type is kept for all streams, so they wait for the one in which it was
/// made.
TEST_F(Streams, ACopyOfAWeightIsReadInAnother) {
  const at::Tensor weight = at::full({300}, 2.5, kNumbers);
  {
    const c10::StreamGuard in(new_stream());
    sleep_there(1);
    detail::compute_copy(weight, at::kFloat);
  }
  expect_there(detail::compute_copy(weight, at::kFloat).add(1), at::full({300}, 3.5, at::kFloat));
}

TEST_F(Streams, AnOperatorIsWaitedForInAnother) {
  const Space S = Space(row(), {3, 70}).partial("a");
  const Operator A = between(S, dual(S));
  std::optional<Pending> pending;
  {
    const c10::StreamGuard in(new_stream());
    pending.emplace(A.start(Vector(S, at::full({3, 70}, Runtime::rank() + 1., kNumbers))));
  }
  expect_there(pending->wait().local(), at::full({3, 70}, sum_over_ranks(), at::kDouble));
}

/// It is the first one's again when it is let go, which must not be before the second has read it.
TEST_F(Streams, AnOperatorsResultIsKeptForAnother) {
  if (Runtime::size() == 1) return;  // x is the result
  const Space S = Space(row(), {3, 70}).partial("a");
  const Operator A = between(S, dual(S));
  const c10::Stream first = new_stream();
  std::optional<Pending> pending;
  {
    const c10::StreamGuard in(first);
    pending.emplace(A.start(Vector(S, at::full({3, 70}, Runtime::rank() + 1., kNumbers))));
  }
  const at::Tensor twice = pending->wait().local().mul(2);
  const c10::StreamGuard in(first);
  for (int i = 0; i < 9; ++i) at::full({3, 70}, -1., kNumbers);
  EXPECT_EQ(at::full({}, 5., kNumbers).item<double>(), 5);  // runs what the first one has
  const c10::StreamGuard back(in.original_stream());
  expect_there(twice, at::full({3, 70}, 2 * sum_over_ranks(), at::kDouble));
}

/// The adjoint of an AllReduce moves nothing: what backward has at the wait is given on to the start.
TEST_F(Streams, AGradientIsKeptForTheStreamOfTheStart) {
  const Space S = Space(row(), {3, 70}).partial("a");
  const Operator A = between(S, S.placed("a", Placement::Replicated));
  const c10::Stream first = new_stream(), second = new_stream();
  const at::Tensor x = at::full({3, 70}, 1., kNumbers).requires_grad_();
  const Chain chain;
  std::optional<Pending> pending;
  {
    const c10::StreamGuard in(first);
    pending.emplace(A.start(Vector(S, x.mul(2))));
  }
  std::optional<Vector> y;
  at::Tensor ybar;
  {
    const c10::StreamGuard in(second);
    y.emplace(pending->wait());
    ybar = at::full({3, 70}, 5., kNumbers);
  }
  backward({*y}, {Vector(dual(y->space()), std::exchange(ybar, {}))});
  {
    const c10::StreamGuard in(second);
    for (int i = 0; i < 9; ++i) at::full({3, 70}, -1., kNumbers);
    EXPECT_EQ(at::full({}, 5., kNumbers).item<double>(), 5);  // runs what the second one has
  }
  expect_there(x.grad(), at::full({3, 70}, 10., at::kDouble));
}

TEST_F(Streams, ATeamsBufferIsWaitedForInAnother) {
  std::vector<int> team;
  for (int rank = 0; rank < Runtime::size(); ++rank) team.push_back(rank);
  PieceOffsets pieces;
  for (int i = 0; i <= Runtime::size(); ++i) pieces.push_back(12 * i / Runtime::size());
  std::shared_ptr<TeamCollective> sum;
  const c10::Stream first = new_stream();
  std::optional<TeamBuffer> buffer;
  {
    const c10::StreamGuard in(first);
    buffer.emplace(team, 12, at::kDouble, pretend_device());
    buffer->local().fill_(Runtime::rank() + 1.);
    sum = buffer->all_reduce("AllReduce", pieces);
  }
  sum->wait();
  expect_there(buffer->local(), at::full({12}, sum_over_ranks(), at::kDouble));
}

TEST_F(Streams, AThreadHasThatOfItsMaker) {
  const at::Tensor x = at::full({3}, 7., kNumbers);
  std::optional<c10::Stream> of_thread;
  at::Tensor y;
  Thread thread([&] {
    of_thread = current_stream();
    y = x.mul(2);
  });
  thread.join();
  EXPECT_EQ(*of_thread, current_stream());
  expect_there(y, at::full({3}, 14., at::kDouble));
}

/// A pipeline's micro-batches wait so: a thread that has another stream looks whether what they wait for is
/// done.
class LookedAtByAnother final : public WaitHandler {
 public:
  /// Rank 0 returns when all others wait in the call that they make next. So these do wait.
  void before_a_call() {
    if (Runtime::rank() > 0) {
      tells_ = true;
      return;
    }
    const ChannelScope of_its_own(1);
    for (int rank = 1; rank < Runtime::size(); ++rank)
      Communicator::world().exchange("waits", {}, {{rank, at::empty({1})}});
  }
  bool has_waited() const { return !tells_; }  // in that call

 private:
  bool until(const std::string&, const std::function<bool()>& done,
             const std::function<std::vector<int>()>&) override {
    if (std::exchange(tells_, false)) {
      const ChannelScope of_its_own(1);
      Communicator::world().exchange("waits", {{0, at::full({1}, 1.)}}, {});
    }
    std::thread([&] {
      while (!done()) std::this_thread::yield();
    }).join();
    return true;
  }

  bool tells_ = false;
};

/// As a model that opens a stream of its own round a plain call.
TEST_F(Streams, AnOperatorIsOfItsOwnStreamWhoeverLooksAtIt) {
  const Space S = Space(row(), {3, 70}).partial("a");
  const Space pieces = Space(row(), {3, 70}).sharded(1, "a");
  for (const Operator& A :
       {between(S, dual(S)), between(S, pieces), between(pieces, Space(row(), {3, 70}))}) {
    SCOPED_TRACE(to_string(A));
    LookedAtByAnother other;
    const c10::StreamGuard in(new_stream());
    const at::Tensor x = at::full(A.domain().local_shape(), Runtime::rank() + 1., kNumbers);
    const at::Tensor here = A(Vector(A.domain(), x.cpu())).local();
    other.before_a_call();
    const at::Tensor y = A(Vector(A.domain(), x)).local();
    EXPECT_TRUE(other.has_waited());
    expect_there(y, here);
  }
}

TEST_F(Streams, AnExchangeIsOfItsOwnStreamWhoeverLooksAtIt) {
  const int me = Runtime::rank(), n = Runtime::size();
  if (n == 1) return;
  LookedAtByAnother other;
  const c10::StreamGuard in(new_stream());
  const at::Tensor sent = at::full({70}, me + 1., kNumbers), received = at::full({70}, -1., kNumbers);
  Communicator::world().exchange("ring", {{(me + 1) % n, sent}}, {{(me + n - 1) % n, received}});
  expect_there(received.mul(2), at::full({70}, 2. * ((me + n - 1) % n + 1), at::kDouble));
}

/// One step after another, each in the first stream.
TEST_F(Streams, AnApplicationIsAdvancedInAnotherStream) {
  if (Runtime::size() == 1) return;  // nothing is to be done
  const Space S = Space(row(), {3, 70}).partial("a");
  const Space columns = Space(row(), {3, 70}).sharded(1, "a");
  const Operator A = between(columns, S) * between(S, columns);
  ASSERT_GT(A.steps().size(), 1U);
  const at::NoGradGuard no_gradient;
  const at::Tensor here = A(Vector(S, at::full({3, 70}, Runtime::rank() + 1., at::kDouble))).local();
  for (const bool waits : {true, false}) {
    SCOPED_TRACE(waits);
    std::optional<Application> application;
    const c10::Stream first = new_stream();
    {
      const c10::StreamGuard in(first);
      application.emplace(A, at::full({3, 70}, Runtime::rank() + 1., kNumbers));
    }
    while (!waits && !application->progress()) std::this_thread::yield();
    application->finish();
    std::optional<at::Tensor> y = application->result();
    expect_there(y->mul(1), here);
    const at::Tensor twice = y->mul(2);
    y.reset();
    application.reset();
    const c10::StreamGuard in(first);
    for (int i = 0; i < 9; ++i) at::full(twice.sizes(), -1., kNumbers);
    EXPECT_EQ(at::full({}, 5., kNumbers).item<double>(), 5);  // runs what the first one has
    const c10::StreamGuard back(in.original_stream());
    expect_there(twice, here.mul(2));
  }
}

/// What is sent is what x was, whatever is queued behind.
TEST_F(Streams, WhatIsSentMayBeWrittenOnceTheOperatorHasReturned) {
  const Space S = Space(row(), {3, 70}).partial("a");
  const at::Tensor x = at::full({3, 70}, Runtime::rank() + 1., kNumbers);
  const Vector y = between(S, dual(S))(Vector(S, x));
  if (Runtime::size() > 1) x.fill_(-1);
  expect_there(y.local(), at::full({3, 70}, sum_over_ranks(), at::kDouble));
}

}  // namespace
}  // namespace riesz::testing
