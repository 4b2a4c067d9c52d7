// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// From one partition to another, as between a pipeline's stages: the receiver may come late, and may not know
// the shape of what it receives.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/known_to.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

at::Tensor counting(std::int64_t count, int from) { return at::arange(from, from + count, at::kDouble); }

/// Two workers send to each other, of whom each receives only after it has sent, first in forward and then in
/// backward: neither waits for the other to take what it sends.
TEST(AcrossStages, SendsWaitForNobody) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Partition first = world.subset({0});
  const Partition last = world.subset({world.size() - 1});
  for (const std::int64_t count : {7, 300000}) {
    const Operator there = between(Space(first, {count}), Space(last, {count}));
    const Operator back = between(Space(last, {count}), Space(first, {count}));
    const Vector x(there.domain(),
                   first.active() ? counting(count, 1).requires_grad_() : at::empty({0}, at::kDouble));
    const Vector w(back.domain(),
                   last.active() ? counting(count, 2).requires_grad_() : at::empty({0}, at::kDouble));
    Chain one(1);
    one.leave();
    Chain two(2);
    two.leave();
    std::optional<Vector> y;
    std::optional<Vector> z;
    const auto go = [&] {
      const Chain::Scope in(one);
      y = there(x);
    };
    const auto come = [&] {
      const Chain::Scope in(two);
      z = back(w);
    };
    first.active() ? go() : come();
    first.active() ? come() : go();
    EXPECT_SAME_BITS(y->local(), last.active() ? counting(count, 1) : at::empty({0}, at::kDouble));
    EXPECT_SAME_BITS(z->local(), first.active() ? counting(count, 2) : at::empty({0}, at::kDouble));

    const auto pull = [&](Chain& chain, const Vector& v) {
      const Chain::Scope in(chain);
      backward(v, {dual(v.space()), v.local().detach().mul(3)});
    };
    first.active() ? pull(two, *z) : pull(one, *y);
    first.active() ? pull(one, *y) : pull(two, *z);
    if (first.active()) {
      EXPECT_SAME_BITS(gradient(x).local(), counting(count, 1).mul(3));
    }
    if (last.active()) {
      EXPECT_SAME_BITS(gradient(w).local(), counting(count, 2).mul(3));
    }
  }
}

/// What is sent is the sender's no more: it may write x at once, and sees how much waits to be taken.
TEST(AcrossStages, ALateReceiverCostsTheSenderMemory) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  constexpr std::int64_t kCount = 100000;
  const Partition first = world.subset({0});
  const Partition last = world.subset({world.size() - 1});
  const auto line = [](const Partition& P, std::int64_t count) { return Space(P, {count}); };
  const at::NoGradGuard guard;
  finish_background();  // of what was before
  Counters::instance().reset();
  if (first.active()) {
    for (int i = 0; i < 3; ++i) {
      const Vector x(line(first, kCount), counting(kCount, i));
      between(x.space(), line(last, kCount))(x);
      x.local().zero_();
    }
    EXPECT_EQ(Counters::instance().untaken(), (Untaken{3 * kCount * 8, 3 * kCount * 8}));
    EXPECT_EQ(Counters::instance().total(), (Traffic{3 * kCount, 3 * kCount * 8, 3}));
  }
  {
    const ChannelScope other(1);  // the last comes when the first is through
    const Operator word = between(line(first, 1), line(last, 1));
    word({word.domain(), first.active() ? counting(1, 0) : at::empty({0}, at::kDouble)});
  }
  for (int i = 0; i < 3 && last.active(); ++i) {
    const Vector nothing(line(first, kCount), at::empty({0}, at::kDouble));
    const at::Tensor received = between(nothing.space(), line(last, kCount))(nothing).local();
    EXPECT_SAME_BITS(received, counting(kCount, i));
  }
  finish_background();
  EXPECT_EQ(Counters::instance().untaken(), (Untaken{0, first.active() ? 3 * kCount * 8 : 0}));
}

/// A vector has one type on all workers: those that have no part of x give an empty tensor of it, and so
/// everybody has y, and the gradient that comes back, in that type before anything comes.
TEST(AcrossStages, ThePlaceholderSaysTheType) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const int others = world.size() - 1;
  std::vector<int> all_others(static_cast<std::size_t>(others));
  std::iota(all_others.begin(), all_others.end(), 1);
  const Partition root = world.subset({0});
  const Partition rest = world.subset(all_others).grid({{"b", others}});
  for (const std::int64_t count : {1, others + 2, 20000}) {
    const Space R(root, {count});
    const Space S(rest, {count});
    for (const Operator& A :
         {between(R, S.sharded(0, "b")), between(S.sharded(0, "b"), R), between(R, S.copied("b")),
          between(S.partial("b"), R), between(R, S.partial("b")), between(S.copied("b"), R)}) {
      SCOPED_TRACE(to_string(A));
      for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
        const Vector x(A.domain(), at::ones(A.domain().local_shape(), type).requires_grad_());
        Counters::instance().reset();
        const Chain chain;
        const Vector y = A(x);
        EXPECT_EQ(y.local().scalar_type(), type);
        EXPECT_EQ(Counters::instance().total().elements,
                  A.domain().partition().active() ? A.traffic(A.domain().partition().rank()).elements : 0);
        backward(y, {dual(A.range()), y.local().detach().clone()});
        EXPECT_EQ(gradient(x).local().scalar_type(), type);
      }
      const at::NoGradGuard guard;
      const Vector integers(A.domain(), at::ones(A.domain().local_shape(), at::kLong));
      EXPECT_EQ(A(integers).local().scalar_type(), at::kLong);
    }
  }
}

/// On every worker that gets a part of x; also where messages are merged.
TEST(AcrossStages, AnotherTypeThanTheSendersIsAnError) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Partition root = world.subset({0});
  const at::NoGradGuard guard;
  for (const std::int64_t count : {3, 20000}) {
    const Operator A = between(Space(root, {count}), Space(world, {count}).copied("world"));
    const Vector x(A.domain(), root.active() ? at::ones({count}, at::kDouble) : at::empty({0}, at::kFloat));
    if (root.active()) {
      EXPECT_NO_THROW(A(x));
      EXPECT_NO_THROW(together({A, A}, {x, x}));
    } else {
      EXPECT_ERROR(A(x), "rank 0 sent " + std::to_string(8 * count) + " bytes of Double in Broadcast",
                   "where this worker expects " + std::to_string(4 * count) + " bytes of Float in Broadcast",
                   "a vector has one type on all workers: one that has no part of it gives an empty tensor of "
                   "that type");
      EXPECT_ERROR(together({A, A}, {x, x}), "Together of Broadcast");
    }
    finish_background();
  }
}

TEST(AcrossStages, AShapeIsToldToWorkersWhoDoNotKnowIt) {
  const Partition world = Partition::world();
  const Partition first = world.subset({0});
  const Partition last = world.subset({world.size() - 1});
  for (const std::int64_t batch : {3, 5}) {
    const std::int64_t known = first.active() ? batch : Space::any;
    Counters::instance().reset();

    const Space X = known_to(last, Space(first, {known, 2}));
    EXPECT_EQ(Counters::instance().total().elements, first.active() && world.size() > 1 ? 2 : 0);
    if (!first.active() && !last.active()) continue;
    EXPECT_EQ(X, Space(first, {batch, 2}));
    const at::Tensor x =
        first.active() ? at::ones({batch, 2}, at::kBFloat16) : at::empty({0}, at::kBFloat16);
    const at::NoGradGuard guard;
    const Vector y = between(X, Space(last, X.shape()))({X, x});
    EXPECT_SAME_BITS(y.local(),
                     last.active() ? at::ones({batch, 2}, at::kBFloat16) : at::empty({0}, at::kBFloat16));
  }
  if (first.active()) {
    EXPECT_ERROR(known_to(last, Space(first, {Space::any, 2})), "in part only", "space of a vector");
  }
}

}  // namespace
}  // namespace riesz::testing
