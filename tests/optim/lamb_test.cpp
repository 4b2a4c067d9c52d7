// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lamb.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "layouts.h"
#include "riesz/comm/counters.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/clip.h"
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

/// Two models in one optimizer, whose parameters have the same names: each goes as it would alone.
TEST(Optimizers, TellParametersOfOneNameApart) {
  const Partition mesh = meshes().back();
  const auto model = [&](double factor) {
    auto parameters = some_parameters(mesh, at::kDouble);
    for (Parameter& p : parameters) p.set(Vector(p.space(), p.get().local().mul(factor)));
    return parameters;
  };
  const std::vector<std::function<std::unique_ptr<Optimizer>(std::shared_ptr<Store>)>> makes{
      [](auto store) { return std::make_unique<Lamb>(store); },
      [](auto store) { return std::make_unique<Adafactor>(store); }};
  for (const bool in_one_store : {true, false}) {
    for (const auto& make : makes) {
      const auto first = model(1), second = model(100), alone_first = model(1), alone_second = model(100);
      std::vector<Parameter> all = first;
      all.insert(all.end(), second.begin(), second.end());
      const auto both = in_one_store ? whole(all) : several({whole(first), whole(second)});
      const auto optimizer = make(both), of_first = make(whole(alone_first)),
                 of_second = make(whole(alone_second));
      for (std::uint64_t step = 0; step < 2; ++step) {
        for (const auto& parameters : {first, alone_first}) give_gradients(parameters, step);
        for (const auto& parameters : {second, alone_second}) give_gradients(parameters, 7 + step);
        const double a = clip_gradients(*of_first->store(), 1e9),
                     b = clip_gradients(*of_second->store(), 1e9);
        EXPECT_NEAR(clip_gradients(*both, 1e9), std::hypot(a, b), 1e-12 * (a + b));
        for (const auto& one : {optimizer.get(), of_first.get(), of_second.get()}) one->step();
      }
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(at::allclose(first[i].get().local(), alone_first[i].get().local(), 1e-12, 1e-14));
        EXPECT_TRUE(at::allclose(second[i].get().local(), alone_second[i].get().local(), 1e-12, 1e-14));
      }
      EXPECT_ERROR(optimizer->state(),
                   optimizer->name() + ": two of its parameters are called " + first[0].name(),
                   "each model an optimizer of its own");
    }
  }
  const auto first = some_parameters(alone(), at::kDouble), second = some_parameters(alone(), at::kDouble);
  EXPECT_ERROR(SavedState(alone(), several({whole(first), whole(second)})->state()),
               "a state to save: two have value of ", "or other names");
}

/// A copy goes with the weight that its own stores have, also where another model has that name before.
TEST(Optimizers, TellCopiesOfOneNameApart) {
  const Partition mesh = meshes().back();
  std::vector<std::string> names;
  for (const Parameter& p : some_parameters(mesh, at::kDouble)) names.push_back(p.name());
  const std::vector<std::function<std::unique_ptr<Optimizer>(std::shared_ptr<Store>)>> makes{
      [](auto store) { return std::make_unique<Lamb>(store); },
      [](auto store) { return std::make_unique<Adafactor>(store); }};
  for (const auto& make : makes) {
    for (const bool all_tied : {false, true}) {
      // Two weights with a copy each; or four of one, which are said to be so twice.
      const std::vector<double> factors =
          all_tied ? std::vector<double>{3, 3, 3, 3} : std::vector<double>{1, 1, 100, 100};
      std::vector<std::vector<Parameter>> models, references;
      std::vector<std::shared_ptr<Store>> stores;
      std::vector<std::unique_ptr<Optimizer>> alone;
      for (const double factor : factors) {
        for (auto* all : {&models, &references}) {
          all->push_back(some_parameters(mesh, at::kDouble));
          for (Parameter& p : all->back()) p.set(Vector(p.space(), p.get().local().mul(factor)));
        }
        stores.push_back(whole(models.back()));
        alone.push_back(make(whole(references.back())));
      }
      const auto pairs =
          several({several({stores[0], stores[1]}, names), several({stores[2], stores[3]}, names)},
                  all_tied ? names : std::vector<std::string>());
      const auto optimizer = make(pairs);
      for (std::uint64_t step = 0; step < 2; ++step) {
        for (std::size_t k = 0; k < models.size(); ++k) {
          const std::uint64_t of = step + (factors[k] > 10 ? 7 : 0);
          give_gradients(models[k], of);
          give_gradients(references[k], of);
          alone[k]->step();
        }
        optimizer->step();
      }
      for (std::size_t k = 0; k < models.size(); ++k) {
        for (std::size_t i = 0; i < names.size(); ++i)
          EXPECT_TRUE(at::allclose(models[k][i].get().local(), references[k][i].get().local(), 1e-12, 1e-14))
              << names[i] << " of model " << k;
      }
    }
  }
}

}  // namespace
}  // namespace riesz::testing
