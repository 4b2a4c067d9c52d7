// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Operators of several steps, of which some are staged: their rounds are issued in the program's order,
// however late what is staged comes.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "on_nccl.h"
#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/pending.h"
#include "riesz/primitives/plan/rounds.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

constexpr double kLate = 300;  // ms

class StepsOnNccl : public OnNccl {
 protected:
  /// A is started, and B is called before A is waited for; where `late`, what A sends is late. Where
  /// `alone`, rank 0 starts A when all others have.
  void expect_the_order_of_the_program(const Operator& A, const Operator& B, bool late, bool alone = false) {
    const Vector x = random_vector(A.domain(), 1, true), z = random_vector(B.domain(), 2, true);
    const at::NoGradGuard no_gradient;
    const Vector y = A(x), w = B(z);
    const Vector x_there(A.domain(), x.local().to(pretend_device()));
    const Vector z_there(B.domain(), z.local().to(pretend_device()));
    if (late) sleep_there(kLate);
    for (int rank = 1; alone && me == 0 && rank < n; ++rank) tell(rank, 0);
    Pending pending = A.start(x_there);
    if (alone && me > 0) tell(me, 0);
    const Vector w_there = B(z_there);
    EXPECT_SAME_BITS(w_there.local().cpu(), w.local());
    EXPECT_SAME_BITS(pending.wait().local().cpu(), y.local());
    if (late) sleep_there(kLate);
    EXPECT_SAME_BITS(A(x_there).local().cpu(), y.local());
    EXPECT_SAME_BITS(B(z_there).local().cpu(), w.local());
  }

  /// By the hosts.
  void tell(int from, int to) const {
    const ChannelScope of_the_hosts(1);
    const at::Tensor nothing = at::full({1}, 0.);
    if (me == from) Communicator::world().exchange("started", {{to, nothing}}, {});
    if (me == to) Communicator::world().exchange("started", {}, {{from, nothing}});
  }

  const int n = Runtime::size(), me = Runtime::rank();
};

/// What comes from another partition may come late, and no worker waits for it at the start.
TEST_F(StepsOnNccl, AfterOneBetweenPartitions) {
  if (n == 1) return;
  const Partition row = Partition::world().grid({{"a", n}});
  const Space X(Partition::world().subset({0}).grid({{"a", 1}}), {2 * n, 3});
  const Space pieces = Space(row, X.shape()).sharded(0, "a"), copies = Space(row, X.shape()).copied("a");
  const Operator gather = between(pieces, copies);
  for (const bool compare : {false, true}) {
    SCOPED_TRACE(compare);
    set({.compare = compare});
    expect_the_order_of_the_program(gather * between(X, pieces), gather, me == 0, true);
    EXPECT_GT(in_.calls("ncclSend"), 0);
  }
}

/// Half of the workers keep their part, so they have no rounds of the first step.
TEST_F(StepsOnNccl, AfterOneBetweenPartitionsThatSomeDoNotMoveIn) {
  if (n != 4) return;
  const Partition P = Partition::world().grid({{"a", 2}, {"b", 2}});
  const Partition Q = Partition::world().grid({{"c", 2}, {"d", 2}});
  const Space X = Space(P, {8, 3}).sharded(0, "a").sharded(0, "b");
  const Space pieces = Space(Q, X.shape()).sharded(0, "d").sharded(0, "c");
  const Operator gather = between(pieces, Space(Q, X.shape()).copied("c").copied("d"));
  const Operator swap = between(X, pieces);
  ASSERT_EQ(swap.steps().front()->rounds()->identity, me == 0 || me == 3);
  set({});
  expect_the_order_of_the_program(gather * swap, gather, me == 1);
}

/// Of the teams of the first step one has a communicator, and the other has not.
TEST_F(StepsOnNccl, AfterOneOfATeamWithoutACommunicator) {
  if (n != 4) return;
  const Partition grid = Partition::world().grid({{"a", 2}, {"b", 2}});
  const Space X(grid, {6, 10});
  const Operator A = between(X.sharded(0, "a").sharded(1, "b"), X.copied("a").copied("b"));
  std::vector<Step> steps;
  std::copy_if(A.steps().begin(), A.steps().end(), std::back_inserter(steps),
               [](const Step& step) { return step->sends(); });
  ASSERT_EQ(steps.size(), 2);
  const CallTeam &first = steps.front()->rounds()->team, &second = steps.back()->rounds()->team;
  const bool has_room = std::find(first->begin(), first->end(), 0) != first->end();
  const std::string axis = grid.axis(steps.back()->axes().front()).name;
  const Space Z = Space(grid, {4, 3}).sharded(0, axis);
  const Operator B = between(Z, Z.copied(axis));
  for (const bool compare : {false, true}) {
    SCOPED_TRACE(compare);
    set({.max_communicators = has_room ? 2 : 1, .compare = compare});
    ASSERT_TRUE(transport_->carries(second, "second"));
    ASSERT_EQ(transport_->carries(first, "first"), has_room);
    expect_the_order_of_the_program(A, B, !has_room);
  }
}

}  // namespace
}  // namespace riesz::testing
