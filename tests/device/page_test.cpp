// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The program of docs/internals/devices.md, from `const at::Device` on.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "riesz/comm/late_number.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

TEST(DevicesPage, AStepReadsNothing) {
  if (Runtime::size() > 1) return;  // a step of several workers waits for its messages
  const at::Device device = pretend_device();
  const Space X(Partition::world(), {6, 4}), Y(Partition::world(), {6, 3});
  Linear layer("layer", "bi,io->bo", X, Y);
  layer.initialise(1, at::kFloat, device);
  AdamW optimizer(layer.parameters(), {.learning_rate = 1e-3});
  LateNumber shown = 0;
  const auto step = [&] {
    Chain chain;
    const Vector x(X, at::ones({6, 4}).pin_memory().to(device, /*non_blocking=*/true));
    const Vector loss = sum(layer(x) * layer(x));
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    shown = LateNumber(loss.local());  // read as a double it waits
  };
  step();  // values of parameters and the optimizer's state come to the device
  step();
  double loss = shown;
  for (int i = 0; i < 3; ++i) {
    {
      const NoHostReads none;  // one for each step: a step waits for the end of the step before
      step();
    }
    EXPECT_LT(double(shown), loss);
    loss = shown;
  }
}

}  // namespace
}  // namespace riesz::testing
