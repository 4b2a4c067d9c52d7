// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include "riesz/optim/adamw.h"

namespace riesz::testing {
namespace {

void expect_torchs(at::ScalarType type, double tolerance) {
  const Space X(Partition::simulated(1), {7, 11});
  Parameter parameter("w", X, {Initial::normal(1), true});
  parameter.initialise(1, type);
  const at::Tensor theirs = parameter.value().local().detach().clone().requires_grad_();
  AdamW ours({parameter},
             {.learning_rate = 0.01, .beta1 = 0.85, .beta2 = 0.99, .epsilon = 1e-7, .weight_decay = 0.2});
  torch::optim::AdamW torchs(
      {theirs}, torch::optim::AdamWOptions(0.01).betas({0.85, 0.99}).eps(1e-7).weight_decay(0.2));
  for (int step = 0; step < 25; ++step) {
    const at::Tensor gradient = at::randn_like(theirs.detach());
    parameter.value().local().mutable_grad() = gradient;
    theirs.mutable_grad() = gradient.clone();
    ours.step();
    torchs.step();
  }

  const at::Tensor difference = parameter.value().local().detach().sub(theirs.detach()).abs();
  EXPECT_LE(difference.max().item<double>(), tolerance);
}

TEST(AdamW, IsTorchs) {
  expect_torchs(at::kDouble, 1e-14);
  expect_torchs(at::kFloat, 2e-6);
}

}  // namespace
}  // namespace riesz::testing
