// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What the Llama of llama.h does on 8 workers, said by one process:  before_it_runs
// docs/guides/before_it_runs.md explains it.
#include <ATen/ops/zeros.h>

#include <cstdio>

#include "llama.h"

const LlamaConfig config;

/// From spaces alone: where everything lies, and what one product moves.
void plans() {
  Partition mesh = Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}});
  ModelSpaces where(spaces::sequence_parallel(mesh), config.roles());
  std::printf("%s\n", where.describe().c_str());

  Space x = where.inside("btf").with_shape({8, 32, config.hidden});
  Contraction down("btf,cf->btc", x, where.weight("btf,cf->btc"), where.stream("btc"));
  std::printf("%s\n", to_string(down).c_str());
  for (int rank : {0, 7})
    std::printf("rank %d: %ld elements in forward, %ld in backward\n", rank,
                long(down.forward_traffic(rank).elements), long(down.backward_traffic(rank).elements));
}

/// One worker's part of a step, with no other worker there.
void step(int rank, int workers) {
  Simulation job(rank, workers);
  WithoutValues nothing_is_computed;
  MemoryRecord memory;
  Partition mesh = Partition::world().grid({{"dp", 2}, {"tp", workers / 2}});
  Llama model(spaces::sequence_parallel(mesh), config);
  model.initialise(1, at::kFloat);
  Zero zero(model.parameters(), {.stage = 2});
  AdamW optimizer(zero.store());
  at::Tensor ids = at::zeros({8, 32}, at::kLong);  // which tokens they are does not matter here
  Vector tokens = distribute(model.spaces().stream("bt").with_shape({8, 32}), ids);
  Vector targets = distribute(model.spaces().inside("bt").with_shape({8, 32}), ids);

  Counters::instance().reset();
  Counters::instance().record(true);
  memory.restart();
  Chain chain;
  backward(cross_entropy(model(tokens), targets).mean());
  optimizer.step();

  std::printf("\nrank %d of %d sends for the first block's MLP\n", rank, workers);
  for (const TrafficRecord& sent : Counters::instance().records())
    if (sent.origin.layer.starts_with("model.layers.0.mlp"))
      std::printf("  %-28s %-8s %-44s %6ld elements %2ld messages\n", sent.origin.layer.c_str(),
                  to_string(sent.origin.phase).c_str(), sent.operation.c_str(), long(sent.traffic.elements),
                  long(sent.traffic.messages));
  std::printf("and in all\n");
  for (const auto& [operation, sent] : Counters::instance().by_operation())
    std::printf("  %-24s %6ld elements %6ld bytes %3ld messages\n", operation.c_str(), long(sent.elements),
                long(sent.bytes), long(sent.messages));
  Holdings held = zero.holdings();
  std::printf("It holds %ld bytes of parameters, %ld of gradients, %ld of the optimizer's state.\n",
              long(held.parameters), long(held.gradients), long(optimizer.bytes()));
  MemoryUse most = memory.at_peak();
  std::printf("A step takes at most %ld bytes: %ld that last, %ld of activations, %ld for a moment.\n",
              long(most.all()), long(most.lasting), long(most.activations),
              long(most.gradients + most.temporaries));
}

int work(int, char**) {
  plans();
  step(0, 8);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, work); }
