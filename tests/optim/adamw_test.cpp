// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "riesz/optim/adam.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const AdamWOptions kOptions{
    .learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1};

/// The gradient of a step; `as` says where it lies.
at::Tensor gradient_of(const Space& X, std::uint64_t step) {
  const Space whole(Partition::simulated(1), X.shape());
  return distribute(X, random_part(whole, 0, 100 + step, true)).local();
}

void give(const Parameter& parameter, const at::Tensor& gradient) {
  parameter.value().local().mutable_grad() = gradient.to(parameter.value().local().scalar_type());
}

/// One element by the formula of Loshchilov and Hutter, after the gradients of `steps`.
double formula(double w, const std::vector<double>& gradients, const AdamWOptions& o, double decay) {
  double m = 0;
  double v = 0;
  int t = 0;
  for (const double g : gradients) {
    ++t;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    w -= o.learning_rate * decay * w;
    w -= o.learning_rate * (m / (1 - std::pow(o.beta1, t))) /
         (std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.epsilon);
  }
  return w;
}

/// 25 steps on a vector of 7 elements in X; compares this worker's part with the formula.
void expect_formula(const Space& X, at::ScalarType type, bool decays, double tolerance) {
  SCOPED_TRACE("in " + to_string(X));
  constexpr std::uint64_t steps = 25;
  Parameter parameter("w", X, {Initial{1, 0.5}, decays});
  parameter.initialise(3, type);
  const at::Tensor before = parameter.value().local().detach().clone().to(at::kDouble);
  AdamW optimizer({parameter}, kOptions);
  for (std::uint64_t step = 0; step < steps; ++step) {
    give(parameter, gradient_of(X, step));
    optimizer.step();
  }

  const at::Tensor after = parameter.value().local().detach().to(at::kDouble);
  for (std::int64_t i = 0; i < after.numel(); ++i) {
    std::vector<double> gradients;
    for (std::uint64_t step = 0; step < steps; ++step) {
      gradients.push_back(gradient_of(X, step).to(type)[i].item<double>());
    }
    const double expected =
        formula(before[i].item<double>(), gradients, kOptions, decays ? kOptions.weight_decay : 0);
    EXPECT_NEAR(after[i].item<double>(), expected, tolerance) << "element " << i;
  }
}

TEST(AdamW, IsItsFormulaAtEveryLayout) {
  const Space X(Partition::world(), {7});
  for (const Space& S : {X, X.sharded(0, "world"), X.sharded(0, "world").with_shape({2})}) {
    for (const bool decays : {true, false}) {
      expect_formula(S, at::kDouble, decays, 1e-14);
      expect_formula(S, at::kFloat, decays, 2e-6);
    }
  }
}

TEST(AdamW, DecaysOnlyWhatDecays) {
  const Space X(Partition::simulated(1), {3});
  Parameter weight("w", X, {Initial::ones(), true}), bias("b", X, {Initial::ones(), false});
  for (Parameter parameter : {weight, bias}) parameter.initialise(1, at::kDouble);
  AdamW optimizer({bias, weight}, kOptions);
  for (int step = 0; step < 2; ++step) optimizer.step();  // without gradients

  EXPECT_NEAR(weight.value().local()[0].item<double>(), std::pow(1 - 0.02 * 0.1, 2), 1e-15);
  EXPECT_EQ(bias.value().local()[0].item<double>(), 1);
}

TEST(AdamW, CountsStepsAlsoWhereNoGradientArrived) {
  const Space X(Partition::simulated(1), {1});
  Parameter parameter("b", X, {Initial::ones(), false});
  parameter.initialise(1, at::kDouble);
  AdamW optimizer({parameter}, kOptions);
  optimizer.step();
  give(parameter, gradient_of(X, 0));
  optimizer.step();
  optimizer.zero_gradients();
  EXPECT_FALSE(parameter.value().local().grad().defined());

  const double expected = formula(1, {0, gradient_of(X, 0)[0].item<double>()}, kOptions, 0);
  EXPECT_NEAR(parameter.value().local()[0].item<double>(), expected, 1e-15);
}

TEST(AdamW, TakesTheLearningRateOfTheStep) {
  const Space X(Partition::simulated(1), {3});
  Parameter parameter("w", X, {Initial::ones(), true});
  parameter.initialise(1, at::kDouble);
  AdamW optimizer({parameter}, kOptions);
  give(parameter, gradient_of(X, 0));

  optimizer.set_learning_rate(0);
  optimizer.step();

  EXPECT_EQ(optimizer.learning_rate(), 0);
  EXPECT_TRUE(parameter.value().local().eq(1).all().item<bool>());
}

TEST(AdamW, ReplicasStayTheSameBitForBit) {
  const Space X(Partition::world(), {50});
  Parameter parameter("w", X, {Initial::normal(1), true});
  parameter.initialise(1, at::kFloat);
  AdamW optimizer({parameter}, kOptions);
  for (std::uint64_t step = 0; step < 5; ++step) {
    give(parameter, gradient_of(X, step));
    optimizer.step();
  }

  EXPECT_TRUE(belongs(X, all_parts(X.partition(), parameter.value().local()), true));
}

TEST(AdamW, SaysWhatDoesNotFit) {
  const Space X(Partition::simulated(1), {3});
  Parameter parameter("w", X, {});

  EXPECT_ERROR(AdamW({parameter}), "Parameter w has no value yet");
  parameter.initialise(1, at::kDouble);
  EXPECT_ERROR(AdamW({parameter}, {.epsilon = 0}), "epsilon is 0");
  EXPECT_ERROR(AdamW({parameter}, {.beta1 = 1}), "beta1 is 1");
  EXPECT_ERROR(AdamW({parameter}, {.beta2 = -0.1}), "beta2 is -0.1");
  EXPECT_ERROR(AdamW({parameter, parameter}), "w is given twice");
}

}  // namespace
}  // namespace riesz::testing
