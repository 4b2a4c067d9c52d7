// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/memory_meter.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace riesz::testing {
namespace {

TEST(MemoryMeter, CountsWhatLivesAndItsPeak) {
  const MemoryMeter meter;
  at::Tensor a = at::empty({100}, at::kDouble);
  at::Tensor b = at::empty({3}, at::kHalf);
  EXPECT_EQ(MemoryMeter::alive(), 806);

  a.reset();
  EXPECT_EQ(MemoryMeter::alive(), 6);
  EXPECT_EQ(MemoryMeter::peak(), 806);
  EXPECT_EQ(MemoryMeter::largest(), 800);

  MemoryMeter::restart();
  EXPECT_EQ(MemoryMeter::peak(), 6);
  b = b.view({3, 1});
  EXPECT_EQ(MemoryMeter::alive(), 6);
}

TEST(MemoryMeter, LetsTensorsOutliveIt) {
  at::Tensor kept;
  {
    const MemoryMeter meter;
    kept = at::empty({4}, at::kFloat);
  }
  kept.fill_(1);
  kept.reset();
  const MemoryMeter meter;
  EXPECT_EQ(MemoryMeter::alive(), 0);
}

}  // namespace
}  // namespace riesz::testing
