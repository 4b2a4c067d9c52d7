// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adafactor.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "adafactor_golden.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

struct Case {
  std::vector<std::int64_t> shape;
  AdafactorOptions options;
};

std::vector<Case> cases() {
  return {{{3, 4}, {}},
          {{5}, {}},
          {{2, 3, 2}, {}},
          {{4, 6}, {.learning_rate = 0.3, .clip = 1.2, .weight_decay = 0.2}},
          {{4, 1}, {.beta2_decay = -0.5, .epsilon1 = 1e-2, .epsilon2 = 2}}};
}

Parameter parameter_of(const std::vector<std::int64_t>& shape) {
  Parameter parameter("w", Space(Partition::simulated(1), shape), {Initial::zeros(), true});
  parameter.initialise(1, at::kDouble);
  const at::Tensor w = parameter.value().local().detach();
  w.copy_(at::arange(1, w.numel() + 1, w.options()).cos().view(shape));
  return parameter;
}

TEST(Adafactor, IsTorchs) {
  for (std::size_t c = 0; c < kAdafactorGolden.size(); ++c) {
    Parameter parameter = parameter_of(cases()[c].shape);
    const at::Tensor w = parameter.value().local();
    Adafactor optimizer({parameter}, cases()[c].options);
    const at::Tensor k = at::arange(w.numel(), w.options().requires_grad(false));
    for (int t = 0; t < 20; ++t) {
      w.mutable_grad() = k.mul(0.7).add(1.3 * t).sin().view(w.sizes());
      optimizer.step();
    }
    const at::Tensor expected = at::tensor(kAdafactorGolden[c], at::kDouble).view(w.sizes());
    EXPECT_LE(w.detach().sub(expected).abs().max().item<double>(), 1e-13) << "case " << c;
  }
}

/// By hand, of the first step, in which V is g².
TEST(Adafactor, DividesByEpsilonAtLeast) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{3}, {3, 1}}) {
    Parameter parameter("w", Space(Partition::simulated(1), shape), {Initial::ones(), true});
    parameter.initialise(1, at::kDouble);
    const at::Tensor w = parameter.value().local();
    w.mutable_grad() = at::tensor({1e-3, 1e-2, 1.0}, at::kDouble).view(w.sizes());
    Adafactor optimizer({parameter}, {.learning_rate = 0.01, .epsilon1 = 1e-2});
    optimizer.step();
    const at::Tensor moved = at::tensor({0.1, 1.0, 1.0}, at::kDouble).mul_(0.01).view(w.sizes());
    EXPECT_LE(w.detach().add(moved).sub(1).abs().max().item<double>(), 1e-15) << shape.size();
  }
}

TEST(Adafactor, KeepsRowsAndColumns) {
  const Space X(Partition::simulated(1), {3, 2, 5});
  Parameter fused("fused", X, {Initial::ones(), true, {3, 10}}), bias("bias", Space(X.partition(), {7}), {});
  for (Parameter parameter : {fused, bias}) parameter.initialise(1, at::kFloat);
  Adafactor optimizer({fused, bias});

  EXPECT_EQ(optimizer.bytes(), 4 * (3 + 10 + 7));
  std::vector<std::string> texts;
  for (const StateView& view : optimizer.kept())
    texts.push_back(view.name + " " + view.key + " " + std::to_string(view.tensor.numel()));
  EXPECT_EQ(texts, (std::vector<std::string>{"bias variance 7", "fused rows 3", "fused columns 10"}));
}

TEST(Adafactor, SaysWhatDoesNotFit) {
  const Parameter w = parameter_of({2, 2});
  EXPECT_ERROR(Adafactor({w}, {.beta2_decay = 0.1}), "beta2_decay is 0.1");
  EXPECT_ERROR(Adafactor({w}, {.epsilon1 = -1.0}), "epsilon1 is -1");
  EXPECT_ERROR(Adafactor({w}, {.epsilon2 = -1}), "epsilon2 is -1");
  EXPECT_ERROR(Adafactor({w}, {.clip = 0.5}), "clip is 0.5");
  EXPECT_ERROR(Adafactor({w}).set_momentum(0.9), "Adafactor has no momentum to set");
}

}  // namespace
}  // namespace riesz::testing
