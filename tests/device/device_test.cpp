// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include "riesz/comm/counters.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

TEST(DeviceOfThisRank, IsTheCpu) { EXPECT_EQ(device_of_this_rank(at::kCPU), at::Device(at::kCPU)); }

/// There is one pretend device on a host, so its ranks share that.
TEST(DeviceOfThisRank, AddsInOneOrder) {
  at::Context& torch = at::globalContext();
  ASSERT_FALSE(torch.deterministicAlgorithms());
  Counters::instance().reset();
  EXPECT_EQ(device_of_this_rank(at::DeviceType::PrivateUse1), pretend_device());
  EXPECT_EQ(Counters::instance().total(), Traffic{});
  EXPECT_TRUE(torch.deterministicAlgorithms());
  EXPECT_FALSE(torch.deterministicAlgorithmsWarnOnly());
  torch.setDeterministicAlgorithms(false, false);
  torch.setDeterministicFillUninitializedMemory(true);
}

TEST(DeviceOfThisRank, IsAnErrorWhereThereIsNone) {
  EXPECT_ERROR(device_of_this_rank(at::DeviceType::HPU), "device hpu: this program is linked with no library",
               "take device = \"cpu\"");
  if (c10::impl::hasDeviceGuardImpl(at::kCUDA)) return;
  EXPECT_ERROR(device_of_this_rank(at::kCUDA), "device cuda: this program is linked with no library",
               "libtorch_cuda.so", "take device = \"cpu\"");
}

}  // namespace
}  // namespace riesz::testing
