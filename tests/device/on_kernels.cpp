// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// With RIESZ_PRETEND_KERNELS=1 all tests of this program compute by the kernels of a device's library, on the
// stand-in, in place of LibTorch's operators.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "riesz/testing/kernel_stand_in.h"

namespace riesz::testing {
namespace {

class OnKernels final : public ::testing::Environment {
  void SetUp() override { stand_in_ = std::make_unique<KernelStandIn>(); }
  void TearDown() override {
    EXPECT_GT(KernelStandIn::queued(), 0);
    stand_in_.reset();
  }

  std::unique_ptr<KernelStandIn> stand_in_;
};

const bool kernels_added = [] {
  const char* asked = std::getenv("RIESZ_PRETEND_KERNELS");
  if (asked != nullptr && std::string_view(asked) == "1")
    ::testing::AddGlobalTestEnvironment(new OnKernels);  // which owns it
  return true;
}();

}  // namespace
}  // namespace riesz::testing
