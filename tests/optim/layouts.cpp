// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "layouts.h"

#include <gtest/gtest.h>

#include <utility>

#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

constexpr std::uint64_t kSteps = 20;

void train(const std::vector<Parameter>& parameters, std::shared_ptr<Store> store,
           const MakeOptimizer& make) {
  const auto optimizer = make(std::move(store));
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    give_gradients(parameters, step);
    optimizer->step();
    optimizer->zero_gradients();
  }
}

void expect_near(const std::vector<Parameter>& parameters, const std::vector<at::Tensor>& expected) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Space& X = parameters[i].space();
    const auto parts = all_parts(X.partition(), parameters[i].value().local().detach());
    const double largest = expected[i].abs().max().item<double>();
    EXPECT_LE(meant(X, parts).sub(expected[i]).abs().max().item<double>(), 1e-12 * largest)
        << parameters[i].name();
    EXPECT_TRUE(belongs(X, parts, true)) << parameters[i].name();
  }
}

}  // namespace

std::vector<Partition> meshes() {
  const Partition world = Partition::world();
  std::vector<Partition> result;
  for (int dp = 1; dp <= world.size(); ++dp) {
    if (world.size() % dp == 0) result.push_back(world.grid({{"dp", dp}, {"tp", world.size() / dp}}));
  }
  return result;
}

Partition alone() { return Partition::simulated(1).grid({{"dp", 1}, {"tp", 1}}); }

std::vector<Parameter> some_parameters(const Partition& mesh, at::ScalarType type, bool by_dp) {
  const auto space = [&](std::vector<std::int64_t> shape) { return Space(mesh, std::move(shape)); };
  const Initial draws = Initial::normal(0.7);
  std::vector<Parameter> result{
      {"matrix", space({7, 5}).sharded(0, "tp"), {draws, true}},
      {"fused", space({6, 3, 4, 2}).sharded(2, "tp"), {draws, true, {6, 24}}},
      {"idle", space({3, 2}).sharded(1, "tp"), {draws, true}},
      {"bias", space({5}).sharded(0, "tp"), {draws, false}},
      {"cube", space({2, 5, 3}).sharded(1, "tp"), {draws, true}},
      {"zero", space({4}), {Initial::zeros(), false}},
      {"ordered", space({3, 16}).zigzag(1, "tp"), {draws, false}},
      {"one", space({1}).sharded(0, "tp"), {draws, true}},
      {"norm", space({6, 1}), {draws, false}},
  };
  if (by_dp)
    result.emplace_back("both", space({9, 4}).sharded(0, "tp").sharded(0, "dp"),
                        ParameterOptions{draws, true});
  for (Parameter& parameter : result) parameter.initialise(5, type);
  return result;
}

at::Tensor gradient_of(const Parameter& parameter, std::size_t i, std::uint64_t step) {
  const Space whole(Partition::simulated(1), parameter.space().shape());
  return random_part(whole, 0, 1000 * step + i, true).mul(parameter.name() == "idle" ? 0 : 0.3);
}

void give_gradients(const std::vector<Parameter>& parameters, std::uint64_t step) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Vector value = parameters[i].value();
    if (parameters[i].name() == "idle") continue;
    value.local().mutable_grad() = distribute(value.space(), gradient_of(parameters[i], i, step))
                                       .local()
                                       .to(value.local().scalar_type())
                                       .clone();
  }
}

std::vector<at::Tensor> values_of(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> result;
  for (const Parameter& parameter : parameters) {
    result.push_back(meant({parameter.space(), parameter.value().local().detach()}));
  }
  return result;
}

void expect_same_at_every_layout(const MakeOptimizer& make) {
  for (const bool shared : {false, true}) {
    const auto one = some_parameters(alone(), at::kDouble, !shared);
    train(one, whole(one), make);
    const std::vector<at::Tensor> expected = values_of(one);
    for (const Partition& mesh : meshes()) {
      SCOPED_TRACE(to_string(mesh) + (shared ? ", shared unevenly" : ", whole"));
      const auto parameters = some_parameters(mesh, at::kDouble, !shared);
      const auto store = uneven(parameters);
      train(parameters, shared ? std::shared_ptr<Store>(store) : whole(parameters), make);
      if (shared) store->gather();
      expect_near(parameters, expected);
    }
  }
}

}  // namespace riesz::testing
