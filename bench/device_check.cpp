// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What scripts/check_gpu.sh runs on a GPU, one part in each call; with --device cpu the program itself is
// tested.
//   mpirun -n N device_check equivalence|layers|losses|kernels|all_reduce|gpt [--device cuda] [--elements N]
//   [--size 124M|350M|1.5B|tiny] [--batch 8] [--context 1024] [--steps 20] [--target N] [--peer N] [--noise
//   X]
//   [--precise] [--stride 1] [--nvtx]
// Prints a row of the table for each measure. The status is not 0 if a number differs from the CPU's.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "device_check/rows.h"
#include "layer_runs.h"
#include "riesz/comm/device.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/nvtx_ranges.h"
#include "riesz/testing/scale.h"
#include "trials.h"

namespace riesz::bench {
namespace {

/// In the trials that are chosen each pair of values occurs.
bool check_trials(const std::string& of, const testing::Factors& factors, at::Device device,
                  std::size_t stride) {
  const std::vector<testing::Trial> trials = testing::covering_trials(factors);
  int done = 0, wrong = 0;
  for (std::size_t i = 0; i < trials.size(); i += stride) {
    const testing::Trial& trial = trials[i];
    const testing::TrainingRun expected = trained(trial, at::kCPU);
    const ::testing::AssertionResult same =
        testing::compare_runs(trained(trial, device), expected, trial.bound());
    const std::string differs = said_by_a_rank(same ? "" : same.message());
    ++done;
    if (differs.empty()) continue;
    ++wrong;
    if (Runtime::rank() == 0) std::printf("DIFFERS %s\n  %s\n", trial.name().c_str(), differs.c_str());
  }
  if (done > 0)
    print_row(concat(of, ", ", done, " trials, ", Runtime::size(), " ranks"), wrong, "differ", "0",
              wrong == 0 ? "ok" : "DIFFERS");
  return wrong == 0;
}

/// Models, layouts, optimizers, stages of ZeRO, schedules, and types of weights.
bool check_equivalence(at::Device device, std::size_t stride) {
  const std::vector<bool> good{check_trials("layouts", testing::layout_factors(), device, stride),
                               check_trials("fp32 and bf16", testing::type_factors(), device, stride),
                               check_trials("optimizers", testing::optimizer_factors(), device, stride),
                               check_trials("pipelines", testing::pipeline_factors(), device, stride)};
  return std::find(good.begin(), good.end(), false) == good.end();
}

/// Values and gradients of the layers of images and of volumes, in fp64.
bool check_layers(at::Device device) {
  int done = 0, wrong = 0;
  for (const auto& some : {testing::image_runs(), testing::volume_runs()}) {
    for (const testing::NamedRun& each : some) {
      const std::string differs = said_by_a_rank(testing::difference_on(device, each.run));
      ++done;
      if (differs.empty()) continue;
      ++wrong;
      if (Runtime::rank() == 0) std::printf("DIFFERS %s\n  %s\n", each.name.c_str(), differs.c_str());
    }
  }
  print_row(concat("layers of images, ", done, " cases, ", Runtime::size(), " ranks"), wrong, "differ", "0",
            wrong == 0 ? "ok" : "DIFFERS");
  return wrong == 0;
}

int run_checks(int argc, char** argv) {
  CheckOptions options;
  std::string part, device = "cuda";
  std::size_t stride = 1;
  bool nvtx = false;
  CLI::App app("Checks and measures a GPU beside the CPU");
  app.add_option("part", part, "What is compared or measured")
      ->required()
      ->check(CLI::IsMember({"equivalence", "layers", "losses", "kernels", "all_reduce", "gpt"}));
  app.add_option("--device", device, "What is checked; cpu: this program itself")
      ->check(CLI::IsMember({"cuda", "cpu"}));
  app.add_option("--elements", options.elements, "kernels, all_reduce: elements of an operand");
  app.add_option("--size", options.size, "losses, gpt: 124M, 350M, 1.5B or tiny");
  app.add_option("--batch", options.batch, "losses, gpt: sequences of a rank");
  app.add_option("--context", options.context, "losses, gpt: tokens of a sequence");
  app.add_option("--steps", options.steps, "gpt: steps that are measured");
  app.add_option("--target", options.target, "gpt: tokens a second that are hoped for");
  app.add_option("--peer", options.peer, "gpt: tokens a second of compiled PyTorch");
  app.add_option("--noise", options.noise, "losses: of gradients, to see how far their rounding carries");
  app.add_flag("--precise", options.precise, "losses: in fp64 there, to see what fp32 rounds");
  app.add_option("--stride", stride, "equivalence: takes every N-th trial");
  app.add_flag("--nvtx", nvtx, "gives layers, phases and operators as ranges to a profiler");
  CLI11_PARSE(app, argc, argv);
  const at::Device here = device_of_this_rank(device == "cuda" ? at::kCUDA : at::kCPU);
  std::optional<NvtxRanges> ranges;
  if (nvtx) ranges.emplace();
  const bool good = part == "equivalence"  ? check_equivalence(here, stride)
                    : part == "layers"     ? check_layers(here)
                    : part == "losses"     ? check_losses(here, options)
                    : part == "kernels"    ? check_kernels(here, options)
                    : part == "all_reduce" ? check_all_reduce(here, options)
                                           : check_gpt(here, options);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace riesz::bench

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::bench::run_checks); }
