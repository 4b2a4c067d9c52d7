// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The same model trained at every stage of ZeRO: what each rank holds shrinks, the loss does not change.
//   riesz-mpirun -n 4 where_state_lives
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <cstdio>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/zero/zero.h"

using namespace riesz;

double train(int stage) {
  Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  models::MinGptConfig config{
      .layers = 2, .heads = 2, .width = 32, .vocabulary = 31, .context = 16, .dropout = 0};
  models::MinGpt model(spaces::one_d(mesh), config);
  model.initialise(1, at::kDouble);
  Zero zero(model.parameters(), {.stage = stage});  // all that is said of where state lives
  AdamW optimizer(zero.store(), {.learning_rate = 3e-3});
  at::Tensor count = at::arange(8 * 16, at::kLong).view({8, 16});
  Vector ids = distribute(model.tokens().with_shape({8, 16}), count * count % 31);
  Vector next = distribute(model.targets().with_shape({8, 16}), (count + 1) * (count + 1) % 31);
  double last = 0;
  for (int step = 0; step < 20; ++step) {
    Chain chain;
    Vector loss = cross_entropy(model(ids), next).mean();
    backward(loss);  // buckets are reduced while it goes on
    last = loss.local().item<double>();
    clip_gradients(*optimizer.store(), 1.0);
    optimizer.step();
    optimizer.zero_gradients();
  }
  Holdings held = zero.holdings();
  if (mesh.rank() == 0)
    std::printf("stage %d: loss %.9f, parameters %6.1f KiB, gradients %6.1f KiB, optimizer %6.1f KiB\n",
                stage, last, held.parameters / 1024.0, held.gradients / 1024.0, optimizer.bytes() / 1024.0);
  return last;
}

int all_stages(int, char**) {
  for (int stage : {0, 1, 2, 3}) train(stage);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, all_stages); }
