// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Moves on both sides of the size up to which messages go at once: the same bits, whatever the type.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/partition/intervals/local_boxes.h"
#include "riesz/primitives/application.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/pending.h"
#include "riesz/primitives/plan/box_copy.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf,
                                         at::kLong,  at::kInt,    at::kByte,     at::kBool,
                                         at::kComplexFloat, at::kComplexDouble};

/// Of any type: small whole numbers, so that bf16 has them too.
at::Tensor numbers(at::IntArrayRef shape, at::ScalarType type, int seed) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return at::arange(count, at::kLong).add(seed).remainder(101).view(shape).to(type);
}

/// A box of a tensor against at::copy_, element by element.
TEST(BoxCopy, CopiesWhatCopyDoes) {
  const std::vector<std::int64_t> from_shape{3, 5, 4}, to_shape{4, 6, 7};
  const std::vector<std::pair<Box, Box>> boxes{
      {{{0, 3}, {1, 4}, {1, 3}}, {{1, 4}, {2, 5}, {4, 6}}}, {{{1, 2}, {0, 5}, {0, 4}}, {{3, 4}, {0, 5}, {3, 7}}},
      {{{0, 3}, {2, 3}, {3, 4}}, {{0, 3}, {5, 6}, {0, 1}}}, {{{1, 1}, {0, 5}, {0, 4}}, {{3, 3}, {0, 5}, {3, 7}}},
      {{{0, 3}, {0, 0}, {1, 3}}, {{1, 4}, {2, 2}, {4, 6}}}};
  for (const at::ScalarType type : kTypes) {
    for (const auto& [in_from, in_to] : boxes) {
      const at::Tensor from = numbers(from_shape, type, 1);
      const at::Tensor to = numbers(to_shape, type, 50), expected = to.clone(), by_place = to.clone();
      narrow(expected, in_to).copy_(narrow(from, in_from));
      const BoxCopy copy = box_copy(from_shape, in_from, to_shape, in_to);
      copy_box(from, to, copy);
      EXPECT_SAME_BITS(to, expected);
      copy_box(static_cast<const std::byte*>(from.const_data_ptr()),
               static_cast<std::byte*>(by_place.mutable_data_ptr()), copy,
               static_cast<std::int64_t>(from.element_size()));
      EXPECT_SAME_BITS(by_place, expected);
    }
  }
}

/// The global tensor that all know, moved between any two shardings; also where x is a view with gaps.
TEST(SmallRound, MovesTheSameBitsOfAnyTypeAndSize) {
  const Partition P = Partition::world();
  const at::NoGradGuard guard;
  for (const at::ScalarType type : kTypes) {
    for (const std::int64_t rows : {1, 5, 64, 700}) {  // up to some 60 KB of a message
      const Space X = Space(P, {rows, 37}).sharded(0, "world"), Y = Space(P, {rows, 37}).sharded(1, "world");
      const at::Tensor global = numbers({rows, 37}, type, 3);
      const Vector x = distribute(X, global), y = distribute(Y, global);
      EXPECT_SAME_BITS(between(X, Y)(x).local(), y.local());
      EXPECT_SAME_BITS(between(Y, X)(Vector(Y, y.local().t().contiguous().t())).local(), x.local());
      EXPECT_SAME_BITS(between(X, X.copied("world"))(x).local(), global);
    }
  }
}

TEST(SmallRound, SumsInRankOrderWhateverTheSize) {
  const Partition P = Partition::world();
  const at::NoGradGuard guard;
  for (const at::ScalarType type : kTypes) {
    for (const std::int64_t n : {0, 1, 3, 17, 500, 5000, 20000}) {
      std::vector<at::Tensor> terms;
      for (int rank = 0; rank < P.size(); ++rank) terms.push_back(numbers({n}, type, 7 * rank));
      const Space X = Space(P, {n}).partial("world");
      const at::Tensor sum = ordered_sum(terms);
      const Vector x(X, terms[static_cast<std::size_t>(P.rank())]);
      EXPECT_SAME_BITS(between(X, X.copied("world"))(x).local(), sum);
      const Space Y = Space(P, {n}).sharded(0, "world");
      EXPECT_SAME_BITS(between(X, Y)(x).local(), distribute(Y, sum).local());
      EXPECT_SAME_BITS(x.local(), numbers({n}, type, 7 * P.rank())) << "x is not written";
    }
  }
}

/// This worker's calls so far.
std::int64_t calls() {
  for (const WorkerStatus& status : StatusBoard::read())
    if (status.rank == Runtime::rank()) return status.calls;
  return -1;
}

/// A worker's ring holds some hundred small messages: the rest is posted. Each is one call.
TEST(SmallRound, SendsMoreThanARingHolds) {
  const Partition P = Partition::world();
  if (P.size() == 1) return;
  const at::NoGradGuard guard;
  const Partition first = P.subset({0}), last = P.subset({P.size() - 1});
  const Space X(first, {500}), Y(last, {500});
  const Operator A = between(X, Y);
  Counters::instance().reset();
  const std::int64_t before = calls();
  std::vector<Vector> sent;
  for (int i = 0; i < 400; ++i) {
    const at::Tensor local = first.active() ? numbers({500}, at::kDouble, i) : at::empty({0}, at::kDouble);
    sent.push_back(A(Vector(X, local)));
  }
  for (int i = 0; i < 400 && last.active(); ++i)
    EXPECT_SAME_BITS(sent[static_cast<std::size_t>(i)].local(), numbers({500}, at::kDouble, i));
  EXPECT_EQ(calls() - before, first.active() || last.active() ? 400 : 0);
  const Traffic total = Counters::instance().total();
  EXPECT_EQ(total, (first.active() ? Traffic{200000, 1600000, 400} : Traffic{}));
}

/// MPI has so many tags for a channel. No message is taken for the one that came so many before, which is
/// waited for later.
TEST(SmallRound, AnOldMessageIsNotTakenForALaterOne) {
  constexpr int kTags = 1 << 14;
  const Partition P = Partition::world();
  if (P.size() != 2) return;
  const at::NoGradGuard guard;
  const Partition first = P.subset({0}), last = P.subset({1});
  const Space X(first, {4}), Y(last, {4});
  const Operator A = between(X, Y);
  const auto x = [&](int i) {
    return Vector(X, first.active() ? numbers({4}, at::kDouble, i) : at::empty({0}, at::kDouble));
  };
  Pending old = A.start(x(0));
  for (int i = 1; i < kTags; ++i) A(x(i));
  const Vector y = A(x(kTags));
  const Vector of_old = old.wait();
  if (!last.active()) return;
  EXPECT_SAME_BITS(y.local(), numbers({4}, at::kDouble, kTags));
  EXPECT_SAME_BITS(of_old.local(), numbers({4}, at::kDouble, 0));
}

/// Is it rung for a worker that listens? It sleeps meanwhile, and looks at nothing.
bool rings(Doorbell& bell, std::chrono::seconds most) {
  const auto begin = std::chrono::steady_clock::now();
  bell.wait(most);
  return std::chrono::steady_clock::now() - begin < most;
}

/// Each worker sleeps until the other has sent, and makes no progress that would ring for what was sent before.
TEST(SmallRound, RingsForWhatWentAtOnce) {
  const Partition P = Partition::world();
  const auto bell = Communicator::world().doorbell();
  if (P.size() != 2 || bell == nullptr) return;
  const at::NoGradGuard guard;
  const Partition first = P.subset({0}), last = P.subset({1});
  const Space X(first, {4}), Y(last, {4});
  const Operator there = between(X, Y), back = between(Y, X);
  const Vector x(X, first.active() ? numbers({4}, at::kDouble, 1) : at::empty({0}, at::kDouble));
  const Vector y(Y, last.active() ? numbers({4}, at::kDouble, 2) : at::empty({0}, at::kDouble));
  if (last.active()) bell->listen();
  back(y);
  if (first.active()) {  // the other listens
    bell->listen();
    there(x);
    EXPECT_TRUE(rings(*bell, std::chrono::seconds(60)));
  } else {
    EXPECT_TRUE(rings(*bell, std::chrono::seconds(20)));
    EXPECT_SAME_BITS(there(x).local(), numbers({4}, at::kDouble, 1));
  }
  back(y);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(SmallRound, ADroppedMessageTakesNoMemory) {
  constexpr int kMany = 8000;  // of 16,000 bytes
  const Partition P = Partition::world();
  if (P.size() != 2) return;
  const at::NoGradGuard guard;
  const Partition first = P.subset({0}), last = P.subset({1});
  const Space X(first, {2000}), Y(last, {2000});
  const Operator A = between(X, Y);
  const at::Tensor x = first.active() ? at::ones({2000}, at::kDouble) : at::empty({0}, at::kDouble);
  const auto drop_and_take = [&] {
    for (int i = 0; i < 100; ++i) {
      if (last.active())
        const Application dropped(A, x);
      else
        A(Vector(X, x));
    }
    A(Vector(X, x));
  };
  drop_and_take();
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < kMany / 100; ++i) drop_and_take();
  EXPECT_LT(resident_bytes() - before, 32 << 20);
}

}  // namespace
}  // namespace riesz
