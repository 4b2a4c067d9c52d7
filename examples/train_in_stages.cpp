// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains minGPT in as many stages as there are ranks, by a schedule of your choice; the losses are the same.
//   riesz-mpirun -n 4 train_in_stages one_f_one_b
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <cstdio>
#include <map>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"

using namespace riesz;

int work(int count, char** words) {
  const std::string name = count > 1 ? words[1] : "one_f_one_b";
  int p = Runtime::size(), m = 4;

  // Each stage lies on one slice of the axis pp; the modules of each are named.
  models::MinGptConfig config{
      .layers = 4, .heads = 2, .width = 32, .vocabulary = 31, .context = 16, .dropout = 0};
  Partition grid = Partition::world().grid({{"pp", p}, {"dp", 1}, {"tp", 1}});
  std::vector<Layout> layouts;
  for (int stage = 0; stage < p; ++stage) layouts.push_back(spaces::one_d(grid.at("pp", stage)));
  std::map<std::string, int> stage_of{{"transformer.ln_f", p - 1}, {"lm_head", p - 1}};
  for (int i = 0; i < 4; ++i) stage_of["transformer.h." + std::to_string(i)] = i * p / 4;
  models::MinGpt model(spaces::placed(layouts, stage_of), config);
  model.initialise(1, at::kDouble);
  AdamW optimizer(model.parameters(), {.learning_rate = 3e-3});

  Pipeline pipeline(model, make_schedule(name, {.stages = p, .micro_batches = m}));
  at::Tensor numbers = at::arange(8 * 16, at::kLong).view({m, 8 / m, 16});
  for (int step = 0; step < 5; ++step) {
    std::vector<double> losses = pipeline.train([&](std::int64_t i) {
      at::Tensor ids = numbers[i] * numbers[i] % 31, next = (numbers[i] + 1) * (numbers[i] + 1) % 31;
      Vector logits = model(distribute(model.tokens().with_shape(ids.sizes().vec()), ids));
      return 1.0 / m *
             cross_entropy(logits, distribute(model.targets().with_shape(ids.sizes().vec()), next)).mean();
    });
    optimizer.step();
    optimizer.zero_gradients();
    double loss = 0;
    for (double each : losses) loss += each;
    if (Runtime::rank() == 0) std::printf("step %d: loss %.9f\n", step, loss);
  }
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
