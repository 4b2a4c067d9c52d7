// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Operations that go on in other threads, and are waited for in other streams than those in which they began.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/thread.h"
#include "riesz/primitives/between.h"
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
