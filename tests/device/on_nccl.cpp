// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// With RIESZ_PRETEND_NCCL=1 all tests of this program exchange messages by the NCCL transport, on the
// stand-in.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "riesz/comm/communicator.h"
#include "riesz/comm/nccl/transport.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

class OnNccl final : public ::testing::Environment {
  void SetUp() override {
    stand_in_ = std::make_unique<NcclStandIn>();
    NcclSettings settings = NcclSettings::of_environment();
    settings.compare = true;
    Communicator::world().set_device_transport(
        std::make_unique<NcclTransport>(NcclStandIn::functions(), pretend_device(), settings));
  }
  void TearDown() override {
    Communicator::world().set_device_transport(nullptr);
    for (const std::string& fault : stand_in_->faults()) ADD_FAILURE() << fault;
    EXPECT_TRUE(Runtime::size() == 1 || stand_in_->calls("ncclSend") > 0);
    stand_in_.reset();
  }

  std::unique_ptr<NcclStandIn> stand_in_;
};

const bool added = [] {
  const char* asked = std::getenv("RIESZ_PRETEND_NCCL");
  if (asked != nullptr && std::string_view(asked) == "1")
    ::testing::AddGlobalTestEnvironment(new OnNccl);  // which owns it
  return true;
}();

}  // namespace
}  // namespace riesz::testing
