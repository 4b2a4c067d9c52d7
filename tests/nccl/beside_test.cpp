// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Calls that were started travel in a stream beside the program's, and what is not a team's is staged.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "on_nccl.h"
#include "riesz/comm/channel.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/pending.h"
#include "riesz/primitives/routed_rows.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const at::TensorOptions kNumbers = at::TensorOptions().device(pretend_device()).dtype(at::kDouble);

Partition row() { return Partition::world().grid({{"a", Runtime::size()}}); }
double sum_over_ranks() { return Runtime::size() * (Runtime::size() + 1) / 2.; }

/// An event of what the current stream has now.
c10::Event now() {
  c10::Event event(pretend_device().type());
  event.record(c10::impl::VirtualGuardImpl(pretend_device().type()).getStream(pretend_device()));
  return event;
}

class Beside : public OnNccl {
 protected:
  Beside() { set({}); }  // to compare would be to wait
  ~Beside() override { finish_pretend_work(); }

  /// Rank 0 begins the call once all others have begun it and computed something. So these compute beside it.
  /// It is their team's first call: not even that waits for rank 0.
  template <typename Start, typename Finish>
  void expect_overlap(const Start& start, const Finish& finish) {
    if (Runtime::size() == 1) return;
    if (Runtime::rank() == 0) {
      for (int rank = 1; rank < Runtime::size(); ++rank) {
        const ChannelScope of_the_hosts(1);
        Communicator::world().exchange("has computed", {}, {{rank, at::full({1}, 0.)}});
      }
      finish(start());
      return;
    }
    auto pending = start();
    at::full({3}, 1., kNumbers).add_(1);
    const c10::Event computed = now();
    while (!computed.query()) std::this_thread::yield();  // without a call beside it, it waits for rank 0
    {
      const ChannelScope of_the_hosts(1);
      Communicator::world().exchange("has computed", {{0, at::full({1}, 1.)}}, {});
    }
    finish(std::move(pending));
  }
};

TEST_F(Beside, AnOperatorThatWasStarted) {
  const Space S = Space(row(), {3, 70}).partial("a");
  const Operator A = between(S, dual(S));
  for (const bool collectives : {false, true}) {
    SCOPED_TRACE(collectives);
    set({.collectives = collectives});
    expect_overlap(
        [&] {
          return A.start(Vector(S, at::full({3, 70}, Runtime::rank() + 1., kNumbers)));
        },
        [](Pending pending) {
          const at::Tensor y = pending.wait().local().cpu();
          EXPECT_SAME_BITS(y, at::full({3, 70}, sum_over_ranks(), at::kDouble));
        });
  }
}

TEST_F(Beside, ATeamsCollective) {
  std::vector<int> team(static_cast<std::size_t>(Runtime::size()));
  std::iota(team.begin(), team.end(), 0);
  PieceOffsets pieces;
  for (int i = 0; i <= Runtime::size(); ++i) pieces.push_back(13 * i / Runtime::size());
  TeamBuffer buffer(team, 13, at::kDouble, pretend_device());
  expect_overlap(
      [&] {
        buffer.local().fill_(Runtime::rank() + 1.);
        return buffer.all_reduce("AllReduce", pieces);
      },
      [&](const std::shared_ptr<TeamCollective>& sum) {
        sum->wait();
        EXPECT_SAME_BITS(buffer.local().cpu(), at::full({13}, sum_over_ranks(), at::kDouble));
      });
}

/// Freed memory is its stream's again at once, and NaN, unless the other stream is known to use it.
TEST_F(Beside, MemoryIsKeptForBothStreams) {
  if (Runtime::size() == 1) return;
  const LatenessScope latest(Lateness::latest);
  const Space S = Space(row(), {3, 70}).partial("a");
  const Operator A = between(S, dual(S));
  const at::NoGradGuard no_gradient;
  for (const bool waits : {true, false}) {
    SCOPED_TRACE(waits);
    std::optional<at::Tensor> x = at::full({3, 70}, Runtime::rank() + 1., kNumbers);
    std::optional<Pending> pending = A.start(Vector(S, *x));
    x.reset();
    for (int i = 0; i < 9; ++i) at::full({3, 70}, -1., kNumbers);  // where x was, if it may be
    EXPECT_EQ(at::full({}, 5., kNumbers).item<double>(), 5);       // runs what this stream has
    if (!waits) {
      pending.reset();
      continue;
    }
    const at::Tensor twice = pending->wait().local().mul(2);
    pending.reset();
    const Vector next = A.start(Vector(S, at::full({3, 70}, 0., kNumbers))).wait();  // where y was
    EXPECT_SAME_BITS(twice.cpu(), at::full({3, 70}, 2 * sum_over_ranks(), at::kDouble));
    EXPECT_SAME_BITS(next.local().cpu(), at::full({3, 70}, 0., at::kDouble));
  }
}

/// Whoever sends to another partition cannot wait for it, as NCCL would.
TEST_F(Beside, MessagesBetweenPartitionsAreStaged) {
  const int n = Runtime::size();
  if (n == 1) return;
  const Space X = Space(Partition::world().subset({0}).grid({{"a", 1}}), {6, 5}).sharded(0, "a");
  std::vector<int> others(static_cast<std::size_t>(n - 1));
  std::iota(others.begin(), others.end(), 1);
  const Space Y = Space(Partition::world().subset(others).grid({{"a", n - 1}}), {6, 5}).sharded(0, "a");
  for (const Operator& A : {between(X, Y), between(Y, X)}) {
    SCOPED_TRACE(to_string(A));
    const Vector x = random_vector(A.domain(), 1, true);
    const at::NoGradGuard no_gradient;
    const Vector here = A(x);
    const Vector there(A.domain(), x.local().to(pretend_device()));
    EXPECT_SAME_BITS(A(there).local().cpu(), here.local());
    EXPECT_SAME_BITS(A.start(there).wait().local().cpu(), here.local());
  }
  EXPECT_EQ(in_.calls("ncclSend"), 0);
}

TEST_F(Beside, RoutedRowsGoFromDeviceToDevice) {
  const int n = Runtime::size(), me = Runtime::rank();
  if (n == 1) return;
  const Split blocks = Split::balanced(2 * n, n);
  std::vector<std::int64_t> counts;
  for (int block = 0; block < 2 * n; ++block) counts.push_back((block + me) % 3);
  const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < n; ++rank) {
    all.push_back(0);
    for (int block = 0; block < 2 * n; ++block) all.back() += (block + rank) % 3;
  }
  const Space X = Space(row(), {std::accumulate(all.begin(), all.end(), std::int64_t{0}), 4})
                      .sharded(0, "a", Split::sizes(all));
  const RoutedRows routed = route_rows(X, "a", blocks, counts);
  const Vector x = random_vector(X, 3);
  const at::NoGradGuard no_gradient;
  ASSERT_EQ(x.local().size(0), rows);
  const Vector y = routed.dispatch(x);
  const Vector there = routed.dispatch(Vector(X, x.local().to(pretend_device())));
  EXPECT_SAME_BITS(there.local().cpu(), y.local());
  EXPECT_SAME_BITS(adjoint(routed.dispatch)(Vector(dual(y.space()), there.local())).local().cpu(), x.local());
  EXPECT_GT(in_.calls("ncclSend"), 0);
}

}  // namespace
}  // namespace riesz::testing
