// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains the Llama of llama.h in two stages:  riesz-mpirun -n 4 place_a_model
// The losses are those of write_a_model; docs/guides/placement.md explains it.
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>

#include <cstdio>

#include "llama.h"

at::Tensor squares(std::int64_t from, std::int64_t vocabulary) {
  const at::Tensor count = at::arange(from, from + 8 * 32, at::kLong).view({8, 32});
  return at::remainder(count.mul(count), vocabulary);
}

int work(int, char**) {
  const LlamaConfig config;
  const Partition grid = Partition::world().grid({{"pp", 2}, {"dp", 1}, {"tp", Runtime::size() / 2}});
  const Layout layout =
      spaces::placed({spaces::one_d(grid.at("pp", 0)), spaces::sequence_parallel(grid.at("pp", 1))},
                     {{"model.layers.1", 1}, {"model.norm", 1}, {"lm_head", 1}});
  Llama model(layout, config);
  model.initialise(1, at::kDouble);
  if (Runtime::rank() == 0) std::printf("%s", model.placement().c_str());

  AdamW optimizer(model.parameters(), {.learning_rate = 3e-3});
  const Space tokens = model.spaces().stream("bt").with_shape({8, 32});
  for (int step = 0; step < 3; ++step) {
    Chain chain;
    const Vector logits = model(distribute(tokens, squares(0, config.vocabulary)));
    const Space targets = tokens.on(logits.space().partition());  // the loss is where the logits are
    const Vector loss = cross_entropy(logits, distribute(targets, squares(1, config.vocabulary))).mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    if (loss.space().partition().rank() == 0)
      std::printf("step %2d: loss %.9f\n", step, loss.local().item<double>());
  }
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
