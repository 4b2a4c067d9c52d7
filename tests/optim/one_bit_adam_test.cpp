// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_bit_adam.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "layouts.h"
#include "own_terms.h"
#include "riesz/comm/counters.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

const OneBitAdamOptions kOptions{.learning_rate = 0.02,
                                 .beta1 = 0.8,
                                 .beta2 = 0.95,
                                 .epsilon = 1e-3,
                                 .weight_decay = 0.1,
                                 .freeze_step = 6};

/// Signs of x times ‖x‖/√n.
at::Tensor quantised(const at::Tensor& x) {
  if (x.numel() == 0) return x;
  const double scale = x.norm().item<double>() / std::sqrt(static_cast<double>(x.numel()));
  return at::where(x.lt(0), at::full_like(x, -scale), at::full_like(x, scale));
}

/// What all p workers of a fibre do with one flat parameter, by the formulas.
struct Formula {
  at::Tensor w, m, v;
  std::vector<at::Tensor> worker_errors, server_errors;
  double decay;
  int t = 0;

  Formula(const at::Tensor& start, int p, bool decays)
      : w(start.clone()),
        m(at::zeros_like(w)),
        v(at::zeros_like(w)),
        worker_errors(static_cast<std::size_t>(p), at::zeros_like(w)),
        server_errors(static_cast<std::size_t>(p), at::Tensor()),
        decay(decays ? kOptions.weight_decay : 0) {}

  void average(const std::vector<at::Tensor>& terms) {
    const auto p = static_cast<std::int64_t>(terms.size());
    at::Tensor sum = at::zeros_like(w);
    for (std::size_t j = 0; j < terms.size(); ++j) {
      const at::Tensor x = m.mul(kOptions.beta1)
                               .add(terms[j], (1 - kOptions.beta1) * static_cast<double>(p))
                               .add(worker_errors[j]);
      worker_errors[j] = x.sub(quantised(x));
      sum.add_(p == 1 ? x : quantised(x));
    }
    m = sum.div(static_cast<double>(p));
    if (p == 1) {
      worker_errors[0].zero_();
    } else {
      average_on_servers(p);
    }
    m = m.mul(v.gt(0));
  }

  void average_on_servers(std::int64_t p) {
    const std::int64_t bytes = (w.numel() + 7) / 8;
    std::int64_t begin = 0;
    for (std::int64_t j = 0; j < p; ++j) {
      const std::int64_t size = 8 * (bytes / p + (j < bytes % p ? 1 : 0));
      const std::int64_t end = std::min(begin + size, w.numel());
      at::Tensor part = m.slice(0, begin, end);
      at::Tensor& error = server_errors[static_cast<std::size_t>(j)];
      const at::Tensor y = error.defined() ? part.add(error) : part.clone();
      error = y.sub(quantised(y));
      part.copy_(quantised(y));
      begin = end;
    }
  }

  void step(const std::vector<at::Tensor>& terms) {
    ++t;
    const OneBitAdamOptions& o = kOptions;
    if (t > o.freeze_step) {
      average(terms);
    } else {
      at::Tensor g = at::zeros_like(w);
      for (const at::Tensor& term : terms) g.add_(term);
      m = m.mul(o.beta1).add(g.mul(1 - o.beta1));
      v = v.mul(o.beta2).add(g.square().mul(1 - o.beta2));
    }
    const at::Tensor v_hat =
        v.div(1 - std::pow(o.beta2, std::min<double>(t, static_cast<double>(o.freeze_step))));
    const at::Tensor u = m.div(1 - std::pow(o.beta1, t)).div(v_hat.sqrt().add(o.epsilon)).add(w.mul(decay));
    w = w.sub(u.mul(o.learning_rate));
  }
};

/// The term of the gradient of parameter i that dp's worker j has, on this worker.
at::Tensor term_of(const Parameter& parameter, std::size_t i, std::uint64_t step, int j) {
  at::Tensor global = gradient_of(parameter, i, step + 100 * static_cast<std::uint64_t>(j + 1));
  if (i == 0 && step < 6) {  // one row is first seen after the freeze
    global = global.clone();
    global.select(0, 2).zero_();
  }
  return distribute(parameter.space(), global).local();
}

void expect_formula(const Partition& mesh) {
  const auto parameters = some_parameters(mesh, at::kDouble);
  const int p = mesh.extent("dp");
  const int me = mesh.coordinate(mesh.rank(), mesh.index("dp"));
  const auto store = std::make_shared<OwnTerms>(parameters);
  OneBitAdam optimizer(store, mesh.along("dp"), kOptions);
  std::vector<Formula> formulas;
  for (const Parameter& parameter : parameters) {
    formulas.emplace_back(parameter.value().local().detach().reshape({-1}), p, parameter.decays());
  }
  for (std::uint64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(optimizer.wants_reduced_gradients(), step < 6);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::vector<at::Tensor> terms;
      at::Tensor sum = at::zeros_like(parameters[i].value().local().detach());
      for (int j = 0; j < p; ++j) sum.add_(term_of(parameters[i], i, step, j));
      for (int j = 0; j < p; ++j) terms.push_back(term_of(parameters[i], i, step, j).reshape({-1}));
      parameters[i].value().local().mutable_grad() =
          optimizer.wants_reduced_gradients() ? sum : term_of(parameters[i], i, step, me).clone();
      if (sum.numel() > 0) formulas[i].step(terms);
    }
    store->summed = optimizer.wants_reduced_gradients();
    optimizer.step();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor value = parameters[i].value().local().detach();
    EXPECT_TRUE(belongs(parameters[i].space(), all_parts(mesh, value), true)) << parameters[i].name();
    if (value.numel() == 0) continue;
    EXPECT_LE(value.reshape({-1}).sub(formulas[i].w).abs().max().item<double>(),
              1e-12 * formulas[i].w.abs().max().item<double>())
        << parameters[i].name();
  }
}

TEST(OneBitAdam, IsItsFormulaAtEveryLayout) {
  for (const Partition& mesh : meshes()) {
    SCOPED_TRACE(to_string(mesh));
    expect_formula(mesh);
  }
}

TEST(OneBitAdam, MovesABitAnElementEachWay) {
  const Partition P = Partition::world().grid({{"dp", Partition::world().size()}});
  const int p = P.size();
  Parameter w("w", Space(P, {1000}), {Initial::ones(), true}), b("b", Space(P, {13}), {Initial::ones()});
  for (Parameter parameter : {w, b}) parameter.initialise(1, at::kFloat);
  const auto store = std::make_shared<OwnTerms>(std::vector<Parameter>{w, b});
  OneBitAdam optimizer(store, P, {.freeze_step = 1});
  optimizer.step();
  store->summed = false;
  store->know_finite(store->shares());
  Counters::instance().reset();
  optimizer.step();

  const auto chunk = [&](int j) {
    return 125 / p + (j < 125 % p ? 1 : 0) + 2 / p + (j < 2 % p ? 1 : 0) + 2 * 8;
  };
  std::int64_t to_servers = 0;
  for (int j = 0; j < p; ++j) to_servers += j == P.rank() ? 0 : chunk(j);
  auto counted = Counters::instance().by_operation();
  EXPECT_EQ(counted["AllToAll"].bytes, to_servers);
  EXPECT_EQ(counted["AllGather"].bytes, (p - 1) * chunk(P.rank()));
  EXPECT_EQ(Counters::instance().total().bytes, counted["AllToAll"].bytes + counted["AllGather"].bytes);
  const std::int64_t errors =
      p == 1 ? 0 : 1013 + optimizer.kept().at(5).tensor.numel() + optimizer.kept().at(7).tensor.numel();
  EXPECT_EQ(optimizer.bytes(), 4 * (2 * 1013 + errors));
}

/// Two copies of one weight feed back the same errors, which are saved once and go on in both.
TEST(OneBitAdam, IsSavedOnceWhereAWeightHasACopy) {
  const Partition P = Partition::world().grid({{"dp", Partition::world().size()}});
  struct Tied {
    explicit Tied(const Partition& on, std::uint64_t seed)
        : first("w", Space(on, {37}), {Initial::normal(1), true}),
          second("w", Space(on, {37}), {Initial::normal(1), true}) {
      for (Parameter* w : {&first, &second}) w->initialise(seed, at::kDouble);
      for (const Parameter& w : {first, second})
        stores.push_back(std::make_shared<OwnTerms>(std::vector<Parameter>{w}));
      optimizer.emplace(several({stores[0], stores[1]}, {"w"}), on, OneBitAdamOptions{.freeze_step = 2});
    }
    void step(std::uint64_t number) {
      const Partition& on = first.space().partition();
      for (Parameter* w : {&first, &second})
        w->value().local().mutable_grad() =
            term_of(*w, 1, number, optimizer->wants_reduced_gradients() ? 0 : on.rank()).clone();
      for (const auto& store : stores) store->summed = optimizer->wants_reduced_gradients();
      optimizer->step();
    }
    Parameter first, second;
    std::vector<std::shared_ptr<OwnTerms>> stores;
    std::optional<OneBitAdam> optimizer;
  } one(P, 1), other(P, 2);
  for (std::uint64_t i = 0; i < 5; ++i) one.step(i);

  const SavedState saved(P, one.optimizer->state());
  saved.load(other.optimizer->state());
  for (Tied* each : {&one, &other}) each->step(5);

  EXPECT_SAME_BITS(other.first.get().local(), one.first.get().local());
  EXPECT_SAME_BITS(other.second.get().local(), one.first.get().local());
}

TEST(OneBitMean, GivesBackWhatItLost) {
  const Partition P = Partition::world();
  OneBitMean mean(P, {at::TensorOptions(at::kDouble)}, {37});
  const Space X = Space(P, {P.size(), 37}).sharded(0, "world");
  const auto all = random_parts(X, 5, true);
  at::Tensor exact = at::zeros({37}, at::kDouble);
  for (const at::Tensor& part : all) exact.add_(part.view({-1}).div(P.size()));
  at::Tensor sum = at::zeros({37}, at::kDouble);
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    const at::Tensor x = all[static_cast<std::size_t>(P.rank())].view({-1}).clone();
    mean({x});
    sum.add_(x);
  }
  EXPECT_LE(sum.div(rounds).sub(exact).abs().max().item<double>(), 0.3);
}

TEST(OneBitAdam, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2).grid({{"dp", 2}});
  const auto placed = [&](const Space& X) {
    Parameter parameter("w", X, {});
    parameter.initialise(1, at::kFloat);
    return parameter;
  };
  EXPECT_ERROR(OneBitAdam(whole({placed(Space(P, {4}).sharded(0, "dp"))}), P),
               "OneBitAdam: w is Sharded on axis dp");
  EXPECT_ERROR(OneBitAdam(whole({placed(Space(P, {4}))}), P, {.freeze_step = 0}), "freeze_step is 0");
  EXPECT_ERROR(OneBitAdam(whole({placed(Space(P, {4}))}), P, {.beta2 = 1}), "OneBitAdam: beta2 is 1");
  EXPECT_ERROR(OneBitAdam(uneven({placed(Space(P, {4}))}), P), "gradients do not lie whole", "stage 0 or 1");
}

}  // namespace
}  // namespace riesz::testing
