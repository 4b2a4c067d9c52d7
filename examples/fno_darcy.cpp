// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A Fourier neural operator learns Darcy flow: from a coefficient to the solution of its equation. Each rank
// makes all fields; batches are sharded by rows and columns, and the losses are those of one rank.
//   build/release/mpirun -n 4 build/release/examples/fno_darcy STEPS
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <cstdlib>

#include "riesz/comm/runtime.h"
#include "riesz/io/darcy_flow.h"
#include "riesz/models/fourier_neural_operator.h"
#include "riesz/nn/loss/relative_error.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

using namespace riesz;

constexpr std::int64_t kSize = 32, kTrained = 256, kHeldOut = 32, kBatch = 8;

struct Fields {
  at::Tensor given, wanted;
};

Fields fields_of(const DarcyFlow& flow, std::int64_t first, std::int64_t count) {
  at::Tensor a = flow.coefficients(first, count);
  return {darcy_inputs(a).to(at::kFloat), darcy_targets(a).to(at::kFloat)};
}

/// The sum of the model's relative errors in these fields, and their count.
Loss loss_of(models::FourierNeuralOperator& model, const Fields& fields, std::int64_t first,
             std::int64_t count) {
  at::Tensor given = fields.given.narrow(0, first, count), wanted = fields.wanted.narrow(0, first, count);
  Vector x = constant(distribute(model.inputs().with_shape(given.sizes().vec()), given));
  return relative_error(model(x),
                        constant(distribute(model.targets().with_shape(wanted.sizes().vec()), wanted)));
}

int run(int argc, char** argv) {
  int steps = argc > 1 ? std::atoi(argv[1]) : 100, p = Runtime::size(), rows = p % 2 == 0 ? 2 : 1;
  Partition mesh = Partition::world().grid({{"height", rows}, {"width", p / rows}});
  models::FourierNeuralOperator model(
      spaces::one_d(mesh), {.layers = 3, .width = 12, .modes = {6, 6}, .hidden = 32, .size = kSize});
  model.initialise(1, at::kFloat);
  AdamW optimizer(model.parameters(), {.learning_rate = 3e-3, .weight_decay = 1e-4});

  DarcyFlow flow(kSize, 1);
  Fields trained = fields_of(flow, 0, kTrained), held_out = fields_of(flow, kTrained, kHeldOut);
  for (int step = 0; step < steps; ++step) {
    Chain chain;
    Vector loss = loss_of(model, trained, step * kBatch % kTrained, kBatch).mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    if (Runtime::rank() == 0 && (step + 1) % 20 == 0)
      std::printf("step %d: loss %.5f\n", step + 1, loss.local().item<double>());
  }
  at::NoGradGuard no_gradient;
  double error = loss_of(model, held_out, 0, kHeldOut).mean().local().item<double>();
  if (Runtime::rank() == 0) std::printf("relative error of held-out solutions %.4f\n", error);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, run); }
