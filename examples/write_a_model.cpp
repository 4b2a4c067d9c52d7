// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains the Llama of llama.h:  riesz-mpirun -n 4 write_a_model LAYOUT [ZERO]
// LAYOUT is dp, tp, sp, 2d, ring or ulysses; the losses are the same.
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>

#include <cstdio>
#include <cstdlib>

#include "llama.h"

Layout layout_named(const std::string& name, int workers) {
  const Partition world = Partition::world();
  if (name == "dp") return spaces::one_d(world.grid({{"dp", workers}}));
  if (name == "tp") return spaces::one_d(world.grid({{"dp", 1}, {"tp", workers}}));
  if (name == "sp") return spaces::sequence_parallel(world.grid({{"dp", 1}, {"tp", workers}}));
  if (name == "2d") return spaces::two_d(world.grid({{"dp", 1}, {"row", 2}, {"column", workers / 2}}));
  if (name == "ring") return spaces::ring(world.grid({{"sp", workers}}));
  return spaces::ulysses(world.grid({{"sp", workers}}));
}

/// Sequences to learn, alike on all workers: squares, modulo the vocabulary.
at::Tensor squares(std::int64_t from, std::int64_t vocabulary) {
  const at::Tensor count = at::arange(from, from + 8 * 32, at::kLong).view({8, 32});
  return at::remainder(count.mul(count), vocabulary);
}

int work(int count, char** words) {
  const LlamaConfig config;
  Llama model(layout_named(count > 1 ? words[1] : "dp", Runtime::size()), config);
  model.initialise(1, at::kDouble);  // by seed and name: the same weights at every layout
  Zero zero(model.parameters(), {.stage = count > 2 ? std::atoi(words[2]) : 0});
  AdamW optimizer(zero.store(), {.learning_rate = 3e-3});
  const Space tokens = model.spaces().stream("bt").with_shape({8, 32});
  const Space targets = model.spaces().inside("bt").with_shape({8, 32});
  for (int step = 0; step < 10; ++step) {
    Chain chain;  // records the calls below, for backward
    const Vector logits = model(distribute(tokens, squares(0, config.vocabulary)));
    const Vector loss = cross_entropy(logits, distribute(targets, squares(1, config.vocabulary))).mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    if (Runtime::rank() == 0) std::printf("step %2d: loss %.9f\n", step, loss.local().item<double>());
  }
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
