// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lamb.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layouts.h"
#include "riesz/comm/counters.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// A parameter by the formulas of You et al.
struct Formula {
  at::Tensor w, m, v;
  int t = 0;

  explicit Formula(const at::Tensor& start) : w(start.clone()), m(at::zeros_like(w)), v(at::zeros_like(w)) {}

  void step(const at::Tensor& g, const LambOptions& o, double decay) {
    ++t;
    m = m.mul(o.beta1).add(g.mul(1 - o.beta1));
    v = v.mul(o.beta2).add(g.square().mul(1 - o.beta2));
    const at::Tensor m_hat = m.div(1 - std::pow(o.beta1, t));
    const at::Tensor v_hat = v.div(1 - std::pow(o.beta2, t));
    const at::Tensor u = m_hat.div(v_hat.sqrt().add(o.epsilon)).add(w.mul(decay));
    const double w_norm = w.norm().item<double>(), u_norm = u.norm().item<double>();
    const double ratio =
        w_norm == 0 || u_norm == 0 ? 1 : std::clamp(w_norm / u_norm, o.least_ratio, o.greatest_ratio);
    w = w.sub(u.mul(o.learning_rate * ratio));
  }
};

void expect_formula(const LambOptions& options) {
  const auto parameters = some_parameters(alone(), at::kDouble, true);
  std::vector<Formula> formulas;
  for (const Parameter& p : parameters) formulas.emplace_back(p.value().local().detach());
  Lamb optimizer(parameters, options);
  for (std::uint64_t step = 0; step < 20; ++step) {
    give_gradients(parameters, step);
    optimizer.step();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      formulas[i].step(parameters[i].gradient().local(), options,
                       parameters[i].decays() ? options.weight_decay : 0);
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor difference = parameters[i].value().local().detach().sub(formulas[i].w).abs();
    EXPECT_LE(difference.max().item<double>(), 1e-12 * formulas[i].w.abs().max().item<double>())
        << parameters[i].name();
  }
}

TEST(Lamb, IsItsFormula) {
  expect_formula({.learning_rate = 0.03, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4, .weight_decay = 0.2});
  expect_formula({.learning_rate = 0.03, .least_ratio = 0.4, .greatest_ratio = 0.6});
}

TEST(Lamb, MovesTwoNumbersAParameter) {
  const Partition P = Partition::world();
  const Space X(P, {70});
  Parameter w("w", X.sharded(0, "world"), {Initial::ones(), true}), b("b", X, {Initial::ones(), true});
  for (Parameter parameter : {w, b}) parameter.initialise(1, at::kFloat);
  Lamb optimizer({w, b});
  Counters::instance().reset();

  optimizer.step();

  const auto by_operation = Counters::instance().by_operation();
  const std::int64_t elements = Counters::instance().total().elements;
  // Beside them, whether all gradients are finite.
  for (const auto& [name, traffic] : by_operation)
    EXPECT_TRUE(name == "AllReduce" || name == "AllMin") << name;
  std::int64_t sum = 0;
  for (const at::Tensor& theirs : collect("testing", P, at::full({}, elements, at::kLong))) {
    sum += theirs.item<std::int64_t>();
  }
  EXPECT_EQ(sum, 2 * (P.size() - 1) * (4 + 1));
}

TEST(Lamb, SaysWhatDoesNotFit) {
  const auto parameters = some_parameters(alone(), at::kDouble);
  EXPECT_ERROR(Lamb(parameters, {.epsilon = 0}), "Lamb: epsilon is 0");
  EXPECT_ERROR(Lamb(parameters, {.beta1 = 1}), "Lamb: beta1 is 1");
  EXPECT_ERROR(Lamb(parameters, {.least_ratio = 2, .greatest_ratio = 1}), "a ratio from 2 to 1");
}

}  // namespace
}  // namespace riesz::testing
