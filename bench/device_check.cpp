// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What scripts/check_gpu.sh runs on a GPU, one part in each call; with --device cpu the program itself is
// tested.
//   mpirun -n N device_check equivalence|losses|kernels|all_reduce|gpt [--device cuda] [--elements N]
//   [--size 124M|350M|1.5B|tiny] [--batch 8] [--context 1024] [--steps 20] [--target N] [--peer N] [--stride
//   1]
// Prints a row of the table for each measure. The status is not 0 if a number differs from the CPU's.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "device_check/rows.h"
#include "riesz/comm/device.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/scale.h"
#include "trials.h"

namespace riesz::bench {
namespace {

/// Models, layouts, optimizers, stages of ZeRO and schedules: in the trials that are chosen each pair of
/// values occurs.
bool check_equivalence(at::Device device, std::size_t stride) {
  std::vector<testing::Trial> trials;
  for (const testing::Factors& factors :
       {testing::layout_factors(), testing::optimizer_factors(), testing::pipeline_factors()})
    for (const testing::Trial& each : testing::covering_trials(factors)) trials.push_back(each);
  int done = 0, wrong = 0;
  for (std::size_t i = 0; i < trials.size(); i += stride) {
    const testing::Trial& trial = trials[i];
    const testing::TrainingRun expected = trained(trial, at::kCPU);
    const ::testing::AssertionResult same =
        testing::compare_runs(trained(trial, device), expected, trial.bound());
    ++done;
    if (same) continue;
    ++wrong;
    if (Runtime::rank() == 0) std::printf("DIFFERS %s\n  %s\n", trial.name().c_str(), same.message());
  }
  print_row(concat("equivalence, ", done, " trials, ", Runtime::size(), " ranks"), wrong, "differ", "0",
            wrong == 0 ? "ok" : "DIFFERS");
  return wrong == 0;
}

int run(int argc, char** argv) {
  CheckOptions options;
  std::string part, device = "cuda";
  std::size_t stride = 1;
  CLI::App app("Checks and measures a GPU beside the CPU");
  app.add_option("part", part)
      ->required()
      ->check(CLI::IsMember({"equivalence", "losses", "kernels", "all_reduce", "gpt"}));
  app.add_option("--device", device)->check(CLI::IsMember({"cuda", "cpu"}));
  app.add_option("--elements", options.elements);
  app.add_option("--size", options.size);
  app.add_option("--batch", options.batch, "sequences of a rank");
  app.add_option("--context", options.context);
  app.add_option("--steps", options.steps);
  app.add_option("--target", options.target, "tokens a second");
  app.add_option("--peer", options.peer, "tokens a second of compiled PyTorch");
  app.add_option("--stride", stride, "takes every so manieth trial");
  CLI11_PARSE(app, argc, argv);
  const at::Device here = device_of_this_rank(device == "cuda" ? at::kCUDA : at::kCPU);
  const bool good = part == "equivalence"  ? check_equivalence(here, stride)
                    : part == "losses"     ? check_losses(here, options)
                    : part == "kernels"    ? check_kernels(here, options)
                    : part == "all_reduce" ? check_all_reduce(here, options)
                                           : check_gpt(here, options);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace riesz::bench

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::bench::run); }
