// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The pretend device's orders: each one that a program leaves out gives a wrong number, each one that it
// keeps the right one.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

const at::TensorOptions kThere = at::TensorOptions().device(pretend_device()).dtype(at::kDouble);

c10::impl::VirtualGuardImpl guard() { return c10::impl::VirtualGuardImpl(pretend_device().type()); }
c10::Stream here() { return guard().getStream(pretend_device()); }
c10::Stream another() { return guard().getNewStream(pretend_device()); }

/// The first number of a tensor, as the current stream has it.
double first(const at::Tensor& x) { return x.view({-1})[0].item<double>(); }

c10::Event recorded(const c10::Stream& in) {
  c10::Event event(in.device_type());
  event.record(in);
  return event;
}

/// Streams run what somebody waits for, and nothing sooner.
class PretendOrder : public ::testing::Test {
 protected:
  void TearDown() override { finish_pretend_work(); }
  LatenessScope latest_{Lateness::latest};
};

class Waiting : public PretendOrder, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(PretendOrder, Waiting, ::testing::Bool());

TEST_P(Waiting, AStreamWaitsForWhatAnotherMakes) {
  const bool waits = GetParam();
  const at::Tensor x = at::zeros({3}, kThere);
  const c10::Stream side = another();
  const c10::Event zeros_are_there = recorded(here());
  {
    const c10::StreamGuard in(side);
    zeros_are_there.block(side);
    x.fill_(7);
  }
  if (waits) recorded(side).block(here());

  EXPECT_EQ(first(x) == 7, waits);
  if (!waits) finish_pretend_work();
  EXPECT_EQ(first(x), 7);
}

/// Freed memory is its stream's again, and NaN.
TEST_P(Waiting, MemoryThatAnotherStreamUsesIsRecorded) {
  const bool records = GetParam();
  std::optional<at::Tensor> x = at::full({100}, 7, kThere);
  const void* const address = x->const_data_ptr();
  const c10::Stream side = another();
  recorded(here()).block(side);
  at::Tensor y;
  {
    const c10::StreamGuard in(side);
    y = x->mul(2);
  }
  if (records) x->record_stream(side);
  x.reset();
  const at::Tensor next = at::full({100}, 5, kThere);
  EXPECT_EQ(next.const_data_ptr() == address, !records) << "used again at once, unless it is recorded";
  EXPECT_EQ(first(next), 5);  // runs what this stream has

  const c10::StreamGuard in(side);
  EXPECT_EQ(first(y), records ? 14 : 10);
}

TEST_P(Waiting, APinnedTensorIsNotWrittenWhileItIsCopied) {
  const bool waits = GetParam();
  const at::Tensor pinned = at::full({3}, 7., at::kDouble).pin_memory();
  const at::Tensor x = pinned.to(pretend_device(), /*non_blocking=*/true);
  const c10::Event copied = recorded(here());
  if (waits) copied.synchronize();
  pinned.fill_(5);

  EXPECT_EQ(first(x), waits ? 7 : 5);
}

TEST_P(Waiting, ACopyToTheHostIsReadOnceItIsThere) {
  const bool waits = GetParam();
  const at::Tensor x = at::full({3}, 7, kThere);
  const at::Tensor pinned = x.to(at::kCPU, /*non_blocking=*/true);
  ASSERT_TRUE(pinned.is_pinned());
  const c10::Event copied = recorded(here());
  if (waits) copied.synchronize();

  EXPECT_EQ(pinned[0].item<double>() == 7, waits);
  EXPECT_EQ(std::isnan(pinned[0].item<double>()), !waits);
}

/// As it is with events of a GPU: who asks again and again sees it done some time.
TEST_F(PretendOrder, EventsAreAskedWithoutWaiting) {
  reset_host_reads();
  const at::Tensor x = at::full({3}, 7, kThere);
  const c10::Event event = recorded(here());
  EXPECT_FALSE(event.query());
  while (!event.query()) std::this_thread::yield();
  EXPECT_TRUE(here().query());
  EXPECT_EQ(host_reads(), (std::map<std::string, std::int64_t>{}));
}

TEST_F(PretendOrder, APinnedBlockIsUsedAgainAfterItsCopies) {
  const at::Tensor x = at::zeros({1000}, kThere);
  std::optional<at::Tensor> pinned = at::full({1000}, 7., at::kDouble).pin_memory();
  const void* const address = pinned->const_data_ptr();
  x.copy_(*pinned, /*non_blocking=*/true);
  pinned.reset();
  const at::Tensor next = at::full({1000}, 5., at::kDouble).pin_memory();
  EXPECT_NE(next.const_data_ptr(), address);
  EXPECT_EQ(first(x), 7);
  EXPECT_EQ(at::empty({1000}, next.options().pinned_memory(true)).const_data_ptr(), address);
}

TEST_F(PretendOrder, NewAndFreedMemoryIsNotANumber) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int again : {0, 1}) {
      const at::Tensor x = at::empty({33, 7}, kThere.dtype(type));
      EXPECT_TRUE(x.isnan().all().item<bool>()) << type << again;
      x.fill_(1);
    }
  }
}

TEST_F(PretendOrder, NumbersOfTheHostAreReadWhereTheyAreGiven) {
  const at::Tensor number = at::full({}, 2., at::kDouble);
  const at::Tensor x = at::ones({3}, kThere).mul_(number);
  number.fill_(100);
  EXPECT_EQ(first(x), 2);
}

TEST_F(PretendOrder, GradientsWaitForTheStreamsOfTheirValues) {
  const at::Tensor x = at::ones({3}, kThere).requires_grad_();
  const c10::Stream side = another();
  at::Tensor y;
  {
    const c10::StreamGuard in(side);
    recorded(guard().getDefaultStream(pretend_device())).block(side);
    y = x.mul(3);
  }
  recorded(side).block(here());
  y.record_stream(here());
  y.mul(2).sum().backward();
  EXPECT_EQ(first(x.grad()), 6);
}

TEST_F(PretendOrder, WhatGoesWrongIsThrownByTheNextWait) {
  const at::Tensor far = at::full({1}, 9, kThere.dtype(at::kLong));
  const at::Tensor x = at::index_select(at::zeros({3}, kThere), 0, far);
  EXPECT_THROW(x.item(), c10::Error);
  EXPECT_NO_THROW(at::ones({}, kThere).item());
}

TEST_F(PretendOrder, RandomNumbersAreDrawnInTheOrderOfTheProgram) {
  const auto drawn = [] {
    at::Generator generator = at::globalContext().defaultGenerator(pretend_device());
    generator.set_current_seed(3);
    const at::Tensor a = at::rand({3}, kThere), b = at::rand({3}, kThere);
    const at::Tensor b_first = b.cpu();
    return std::pair(a.cpu(), b_first);
  };
  const auto [a, b] = drawn();
  const auto [again_a, again_b] = drawn();
  EXPECT_SAME_BITS(a, again_a);
  EXPECT_SAME_BITS(b, again_b);
  EXPECT_FALSE(a.equal(b));
}

TEST(HostReads, AreNotWhatOnlyQueues) {
  const at::Tensor x = at::arange(3, kThere);
  const at::Tensor pinned = at::zeros({3}, at::kDouble).pin_memory();
  reset_host_reads();

  x.copy_(pinned, /*non_blocking=*/true);
  pinned.copy_(x, /*non_blocking=*/true);
  x.add_(2).mul_(x.sum()).index_put_({x.lt(3)}, at::full({}, 5., at::kDouble));
  const at::Tensor y = x.clone();
  EXPECT_EQ(host_reads(), (std::map<std::string, std::int64_t>{}));
}

TEST(HostReads, AreCountedByTheNameOfWhoReads) {
  const at::Tensor x = at::arange(3, kThere);
  reset_host_reads();
  x[0].item();
  x.equal(x);
  expect_there(at::nonzero(x), at::arange(1, 3).view({2, 1}));
  expect_there(x.masked_select(x.gt(0)), at::arange(1, 3, at::kDouble));
  x.cpu();
  x.copy_(at::zeros({3}, at::kDouble));
  x.copy_(at::zeros({3}, at::kDouble), /*non_blocking=*/true);              // not pinned
  x.copy_(at::zeros({3}, at::kFloat).pin_memory(), /*non_blocking=*/true);  // of another type
  recorded(here()).synchronize();
  here().synchronize();
  const std::map<std::string, std::int64_t> expected{
      {"aten::_local_scalar_dense", 1}, {"aten::equal", 1},        {"aten::nonzero", 1},
      {"aten::masked_select", 1},       {"copy to the host", 3},   {"copy from the host", 3},
      {"Event::synchronize", 1},        {"Stream::synchronize", 1}};
  EXPECT_EQ(host_reads(), expected);
}

TEST(HostReads, AreThrownWhereNoneIsAllowed) {
  const at::Tensor x = at::arange(3, kThere);
  const auto said = [](const auto& statement) -> std::string {
    try {
      const NoHostReads none;
      statement();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "nothing";
  };
  EXPECT_EQ(said([&] { x.add(1); }), "nothing");
  EXPECT_EQ(said([&] { x[0].item(); }),
            "aten::_local_scalar_dense waits for pretend:0 where no host read is allowed");
  EXPECT_EQ(said([&] { x.cpu(); }), "copy to the host waits for pretend:0 where no host read is allowed");
  EXPECT_EQ(first(x), 0);
}

TEST(HostReads, OfEventsAreThrownUnlessTheseWereRecordedBefore) {
  const LatenessScope latest(Lateness::latest);
  const at::Tensor x = at::arange(3, kThere);
  const c10::Event before = recorded(here());
  {
    const NoHostReads none;
    EXPECT_NO_THROW(before.synchronize());
    const at::Tensor y = x.add(1);
    EXPECT_THROW(recorded(here()).synchronize(), c10::Error);
  }
  recorded(here()).synchronize();
}

/// They are waits by polling, and no reads.
TEST(HostReads, OfEventsThatAreQueriedTooSoonAreCountedApart) {
  const LatenessScope latest(Lateness::latest);
  const at::Tensor x = at::arange(3, kThere);
  const c10::Event before = recorded(here());
  const NoHostReads none;
  EXPECT_FALSE(before.query());
  EXPECT_EQ(none.polled(), 0);
  const at::Tensor y = x.add(1);
  const c10::Event first = recorded(here());
  const at::Tensor z = x.add(2);
  const c10::Event second = recorded(here());
  while (!first.query()) std::this_thread::yield();
  EXPECT_EQ(none.polled(), 1);
  EXPECT_TRUE(first.query());
  EXPECT_FALSE(second.query());
  EXPECT_EQ(none.polled(), 2);
  EXPECT_TRUE(none.seen().empty());
}

TEST(PretendMemory, IsLimited) {
  const at::Tensor x = at::zeros({1000}, kThere);
  const std::int64_t before = limit_pretend_memory(1);
  EXPECT_THROW(at::zeros({100003}, kThere), c10::OutOfMemoryError);
  EXPECT_EQ(first(x), 0);
  limit_pretend_memory(before);
  EXPECT_EQ(first(at::zeros({100003}, kThere)), 0);
}

}  // namespace
}  // namespace riesz::testing
