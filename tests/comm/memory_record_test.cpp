// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/memory_record.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/without_values.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz {
namespace {

at::Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }

TEST(MemoryRecord, HasTheMostThatWasThereAtOnce) {
  const at::Tensor before = bytes(1000);
  MemoryRecord memory;
  at::Tensor a = bytes(100), b = bytes(10);
  EXPECT_EQ(memory.alive(), 110);
  a.reset();
  std::thread([&] { b = bytes(5); }).join();
  EXPECT_EQ(memory.alive(), 5);
  EXPECT_EQ(memory.peak(), 110);
  memory.restart();
  EXPECT_EQ(memory.peak(), 5);
  EXPECT_EQ(memory.at_peak().lasting, 5);
}

/// What lasts, what backward reads, what gradients are, and what a step has for a moment.
TEST(MemoryRecord, TellsApartWhatLivesHowLong) {
  for (const bool values : {true, false}) {
    std::optional<WithoutValues> none;
    if (!values) none.emplace();
    MemoryRecord memory;
    at::Tensor w = at::ones({10}, at::kFloat).requires_grad_();
    memory.restart();
    {
      const at::Tensor x = at::ones({100}, at::kFloat).view({10, 10});
      const at::Tensor loss = x.mul(w).exp().exp().exp().sum();  // the product goes, what exp gives stays
      loss.backward();
    }
    const MemoryUse most = memory.at_peak();
    EXPECT_EQ(most.lasting, 40);
    EXPECT_EQ(most.activations, 1200) << values;
    EXPECT_NEAR(static_cast<double>(most.temporaries), 808, 8) << values;
    EXPECT_EQ(most.all(), memory.peak());
    w.mutable_grad().reset();
    memory.restart();
    const LayerScope update("", Phase::update);
    const at::Tensor moment = bytes(7);
    EXPECT_EQ(memory.at_peak().temporaries, 7);
  }
}

TEST(MemoryRecord, IsOneAtATimeAndBesideAMeter) {
  const testing::MemoryMeter meter;
  at::Tensor outlives;
  {
    const MemoryRecord memory;
    EXPECT_ERROR(MemoryRecord(), "one lives already");
    outlives = bytes(100);
  }
  EXPECT_EQ(testing::MemoryMeter::alive(), 100);
  const MemoryRecord next;
  outlives.reset();
  EXPECT_EQ(next.alive(), 0);
  EXPECT_EQ(testing::MemoryMeter::alive(), 0);
}

}  // namespace
}  // namespace riesz
