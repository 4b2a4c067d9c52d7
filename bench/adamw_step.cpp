// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// AdamW alone, over a model's parameters as a flat piece of one bucket: "steps/s N" of the median step. The
// peer is bench/peers/adamw_step.py.
#include <ATen/ops/full.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/optim/adam.h"
#include "riesz/zero/zero.h"

namespace riesz {
namespace {

int run(int argc, char** argv) {
  int steps = 20;
  models::MinGptConfig config{
      .layers = 4, .heads = 4, .width = 512, .vocabulary = 4096, .context = 128, .dropout = 0};
  CLI::App app("AdamW alone, in steps per second");
  app.add_option("--steps", steps, "steps that count, after three that do not");
  app.add_option("--width", config.width);
  CLI11_PARSE(app, argc, argv);
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  models::MinGpt model(spaces::one_d(mesh), config);
  model.initialise(1, at::kFloat);
  Zero zero(model.parameters(), {.stage = Runtime::size() > 1 ? 1 : 0});
  AdamW optimizer(zero.store());
  for (const Share& share : zero.store()->shares()) share.gradient.fill_(1e-3);
  std::vector<double> seconds;
  for (int i = 0; i < steps + 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    optimizer.step();
    if (i >= 3)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + steps / 2, seconds.end());
  if (Runtime::rank() == 0) std::printf("steps/s %.2f\n", 1 / seconds[static_cast<std::size_t>(steps / 2)]);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
