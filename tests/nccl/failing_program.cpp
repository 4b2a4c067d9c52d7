// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A job on devices that comes to a bad end. The argument says which.
#include <ATen/ops/full.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/nccl/transport.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

int run(const std::string& how) {
  const int me = Runtime::rank(), other = 1 - me;
  NcclStandIn stand_in;
  Communicator& world = Communicator::world();
  world.set_device_transport(
      std::make_unique<NcclTransport>(NcclStandIn::functions(), pretend_device(), NcclSettings{}));
  const auto team = std::make_shared<const std::vector<int>>(std::vector<int>{0, 1});
  const at::Tensor x = at::full({4}, 1., at::device(pretend_device())), y = at::full({4}, 0., x.options());
  const auto exchange = [&](const char* name, std::int64_t count) {
    world.exchange(name, {{other, {x, 0, count}}}, {{other, {y, 0, count}}}, team);
  };
  const auto waits_on_the_device = [&](std::int64_t count) {
    exchange("second", count);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  };
  if (how != "makes_none" && how != "stays_away_at_first") exchange("first", 4);
  if (how == "stays_away" || how == "stays_away_at_first") {
    set_deadline(std::chrono::seconds(2));
    if (me == 0) waits_on_the_device(4);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  } else if (how == "differs") {
    waits_on_the_device(1 + me);
  } else if (how == "compares") {
    set_consistency_checks(true);
    world.exchange(me == 0 ? "second" : "another", {{other, {x, 0, 4}}}, {{other, {y, 0, 4}}}, team);
  } else if (how == "throws") {
    RIESZ_CHECK(me == 0, "this rank has had enough");
    waits_on_the_device(4);
  } else if (how == "is_killed") {
    if (me == 1) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      std::printf("killed at %lld\n",
                  static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
      std::fflush(stdout);
      std::raise(SIGKILL);
    }
    waits_on_the_device(4);
  } else if ((how == "ends_early" || how == "makes_none") && me == 0) {
    waits_on_the_device(4);
  }
  world.set_device_transport(nullptr);
  return 0;
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) {
  return riesz::run_main(argc, argv, [](int, char** words) { return riesz::testing::run(words[1]); });
}
