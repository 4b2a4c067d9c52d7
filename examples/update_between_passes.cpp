// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains minGPT in as many stages as there are ranks, by a schedule that never waits for a step to end.
//   riesz-mpirun -n 4 update_between_passes pipedream
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <cstdio>
#include <deque>
#include <map>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/sgd.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"

using namespace riesz;

int work(int count, char** words) {
  const std::string name = count > 1 ? words[1] : "pipedream";
  int p = Runtime::size(), m = 24, shown = 6;

  models::MinGptConfig config{
      .layers = 4, .heads = 2, .width = 32, .vocabulary = 31, .context = 16, .dropout = 0};
  Partition grid = Partition::world().grid({{"pp", p}, {"dp", 1}, {"tp", 1}});
  std::vector<Layout> layouts;
  for (int stage = 0; stage < p; ++stage) layouts.push_back(spaces::one_d(grid.at("pp", stage)));
  std::map<std::string, int> stage_of{{"transformer.ln_f", p - 1}, {"lm_head", p - 1}};
  for (int i = 0; i < 4; ++i) stage_of["transformer.h." + std::to_string(i)] = i * p / 4;
  models::MinGpt model(spaces::placed(layouts, stage_of), config);
  model.initialise(1, at::kDouble);

  Pipeline pipeline(model, make_schedule(name, {.stages = p, .micro_batches = m}));
  std::deque<SGD> optimizers;  // of each chunk
  for (int chunk = 0; chunk < p; ++chunk)
    optimizers.emplace_back(pipeline.parameters(chunk), SGDOptions{.learning_rate = 0.1, .momentum = 0.5});

  at::Tensor numbers = at::arange(2 * 16, at::kLong).view({2, 16});
  std::vector<double> losses = pipeline.train(
      [&](std::int64_t i) {
        at::Tensor here = numbers + i, ids = here * here % 31, next = (here + 1) * (here + 1) % 31;
        Vector logits = model(distribute(model.tokens().with_shape(ids.sizes().vec()), ids));
        return cross_entropy(logits, distribute(model.targets().with_shape(ids.sizes().vec()), next)).mean();
      },
      [&](int chunk) {
        optimizers[chunk].step();
        optimizers[chunk].zero_gradients();
      });
  for (int first = 0; first < m; first += shown) {
    double loss = 0;
    for (int i = first; i < first + shown; ++i) loss += losses[i] / shown;
    if (Runtime::rank() == 0)
      std::printf("micro-batches %d to %d: loss %.9f\n", first, first + shown - 1, loss);
  }
  if (Runtime::rank() == 0) std::printf("worker 0 had %d versions of its weights\n", pipeline.versions());
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
