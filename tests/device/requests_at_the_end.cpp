// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program that drops requests of a device after its job has ended, and more when its static objects go.
#include <ATen/ops/full.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/pretend_device.h"

namespace {

std::unique_ptr<riesz::Requests> dropped_at_exit;  // made before all of the library's

/// Of a message that is not copied out of the device when main ends.
std::unique_ptr<riesz::Requests> unsent() {
  const at::Tensor sent = at::full({3}, 7., at::device(riesz::testing::pretend_device()));
  return riesz::Communicator::world().reserve({0}, {}).post("unsent", {{0, sent}}, {},
                                                            riesz::Counted::nothing);
}

}  // namespace

int main(int argc, char** argv) {
  const riesz::testing::LatenessScope latest(riesz::testing::Lateness::latest);
  std::unique_ptr<riesz::Requests> dropped_before;
  const int status = riesz::run_main(argc, argv, [&](int, char**) {
    dropped_before = unsent();
    dropped_at_exit = unsent();
    return 0;
  });
  dropped_before.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // in which the background would look
  std::puts("all requests are gone");
  return status;
}
