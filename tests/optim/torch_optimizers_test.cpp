// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "riesz/optim/adam.h"
#include "riesz/optim/sgd.h"

namespace riesz::testing {
namespace {

template <typename Ours, typename Torchs, typename Options, typename TorchOptions>
void expect_torchs(const Options& options, const TorchOptions& torch_options) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    SCOPED_TRACE(type);
    const Space X(Partition::simulated(1), {7, 11});
    Parameter parameter("w", X, {Initial::normal(1), true});
    parameter.initialise(1, type);
    const at::Tensor theirs = parameter.value().local().detach().clone().requires_grad_();
    Ours ours({parameter}, options);
    Torchs torchs({theirs}, torch_options);
    for (int step = 0; step < 20; ++step) {
      const at::Tensor gradient = at::randn_like(theirs.detach());
      parameter.value().local().mutable_grad() = gradient;
      theirs.mutable_grad() = gradient.clone();
      ours.step();
      torchs.step();
    }
    const at::Tensor difference = parameter.value().local().detach().sub(theirs.detach()).abs();
    const double largest = theirs.detach().abs().max().item<double>();
    EXPECT_LE(difference.max().item<double>(), (type == at::kDouble ? 1e-14 : 1e-6) * largest);
  }
}

TEST(SGD, IsTorchs) {
  using Theirs = torch::optim::SGDOptions;
  expect_torchs<SGD, torch::optim::SGD>(SGDOptions{.learning_rate = 0.1}, Theirs(0.1));
  expect_torchs<SGD, torch::optim::SGD>(SGDOptions{.learning_rate = 0.1, .weight_decay = 0.3},
                                        Theirs(0.1).weight_decay(0.3));
  expect_torchs<SGD, torch::optim::SGD>(
      SGDOptions{.learning_rate = 0.1, .momentum = 0.8, .dampening = 0.2, .weight_decay = 0.3},
      Theirs(0.1).momentum(0.8).dampening(0.2).weight_decay(0.3));
  expect_torchs<SGD, torch::optim::SGD>(
      SGDOptions{.learning_rate = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.3},
      Theirs(0.1).momentum(0.8).nesterov(true).weight_decay(0.3));
}

TEST(Adam, IsTorchs) {
  expect_torchs<Adam, torch::optim::Adam>(
      AdamOptions{.learning_rate = 0.01, .beta1 = 0.85, .beta2 = 0.99, .epsilon = 1e-7, .weight_decay = 0.2},
      torch::optim::AdamOptions(0.01).betas({0.85, 0.99}).eps(1e-7).weight_decay(0.2));
}

TEST(AdamW, IsTorchs) {
  expect_torchs<AdamW, torch::optim::AdamW>(
      AdamWOptions{.learning_rate = 0.01, .beta1 = 0.85, .beta2 = 0.99, .epsilon = 1e-7, .weight_decay = 0.2},
      torch::optim::AdamWOptions(0.01).betas({0.85, 0.99}).eps(1e-7).weight_decay(0.2));
}

}  // namespace
}  // namespace riesz::testing
