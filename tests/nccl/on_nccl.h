// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/nccl/transport.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {

/// The transport by NCCL, on the stand-in. Tests that break one of NCCL's rules fail.
class OnNccl : public ::testing::Test {
 protected:
  OnNccl() {
    in_.set_standstill(std::chrono::seconds(20));
    set({.max_communicators = 64, .compare = true});
  }
  ~OnNccl() override {
    Communicator::world().set_device_transport(nullptr);
    for (const std::string& fault : in_.faults()) ADD_FAILURE() << fault;
  }
  void set(const NcclSettings& settings) {
    Communicator::world().set_device_transport(nullptr);
    auto made = std::make_unique<NcclTransport>(NcclStandIn::functions(), pretend_device(), settings);
    transport_ = made.get();
    Communicator::world().set_device_transport(std::move(made));
  }

  NcclStandIn in_;
  NcclTransport* transport_ = nullptr;
};

}  // namespace riesz::testing
