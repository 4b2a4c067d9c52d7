// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Trains in two stages; the job's last worker leaves its schedule, in the way that the argument names.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "block_net.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/nn/context.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"

using namespace riesz;

namespace {

int train(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way != "ends") set_deadline(std::chrono::seconds(2));
  testing::BlockNet net(testing::a_block_a_stage({0, 1}), 2);
  net.initialise(3, at::kDouble);
  net.called = [&](int) {
    const bool leaves = Runtime::rank() + 1 == Runtime::size() && ContextScope::current()->step == 2;
    if (leaves && way != "stops") throw_error("no such token as " + std::string(400, 'x'));
    if (!leaves || way != "stops") return;
    raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(60));  // who ends it lets it go on first
  };
  const Pipeline pipeline(net, make_schedule("gpipe", {.stages = 2, .micro_batches = 4}));
  try {
    pipeline.train([&](std::int64_t i) { return testing::loss_of(net, i); });
  } catch (const Error& error) {
    if (way == "ends") throw;
    if (way == "goes_on") {
      net.called = {};
      pipeline.train([&](std::int64_t i) { return testing::loss_of(net, i); });
    }
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
  std::puts("came to the end");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, train); }
