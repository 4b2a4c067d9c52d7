// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A worker that does not come: the report of docs/algebra.md.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>

#include <chrono>
#include <thread>

#include "riesz/comm/board.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/primitives/between.h"

using namespace riesz;

int leave_alone(int, char**) {
  const at::NoGradGuard guard;
  const Partition world = Partition::world();
  const Space S = Space(world, {8}).partial("world");
  const Operator sum = between(S, S.copied("world"));
  const Vector x = distribute(S, at::ones({8}, at::kDouble));
  set_deadline(std::chrono::seconds(1));
  Board::note("step 12");
  sum(x);
  if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(60));
  sum(x);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, leave_alone); }
