// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A worker that has other data, and one that does not come: the reports of docs/guides/late_or_different.md.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/wait.h"
#include "riesz/primitives/between.h"

using namespace riesz;

void have_other_data() {
  const Partition grid = Partition::world().grid({{"tp", Partition::world().size()}});
  const Space X(grid, {8, 3});
  set_consistency_checks(true);
  try {
    between(X, X.copied("tp"))({X, at::full({8, 3}, grid.rank() + 1, at::kFloat)});
  } catch (const Error& error) {
    if (grid.rank() == 0) std::printf("%s\n", error.what());
  }
  set_consistency_checks(false);
}

int leave_alone(int, char**) {
  const at::NoGradGuard guard;
  have_other_data();
  const Partition world = Partition::world();
  const Space S = Space(world, {8}).partial("world");
  const Operator sum = between(S, S.copied("world"));
  const Vector x = distribute(S, at::ones({8}, at::kDouble));
  set_deadline(std::chrono::seconds(1));
  StatusBoard::note("step 12");
  sum(x);
  if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(60));
  sum(x);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, leave_alone); }
