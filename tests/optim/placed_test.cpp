// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A store of parameters that lie on different workers, as a placed model's: clipped, unscaled, stepped and
// saved as on one worker.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "layouts.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// The workers of a stage, of two: the first half of all, and the others; one worker is both.
Partition half(int stage) {
  const int p = Runtime::size(), middle = (p + 1) / 2;
  std::vector<int> ranks;
  for (int rank = 0; rank < p; ++rank) {
    if (p == 1 || (rank < middle) == (stage == 0)) ranks.push_back(rank);
  }
  return Partition::world().subset(ranks).grid({{"dp", static_cast<int>(ranks.size())}});
}

Partition this_one() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}); }

std::vector<Parameter> parameters_on(const Partition& first, const Partition& second) {
  std::vector<Parameter> all{{"matrix", Space(first, {7, 5}), {Initial::normal(1), true}},
                             {"bias", Space(first, {4}), {Initial::normal(1), false}},
                             {"other", Space(second, {3, 6}), {Initial::normal(1), true}}};
  for (Parameter& parameter : all) parameter.initialise(5, at::kDouble);
  return all;
}

void give(const std::vector<Parameter>& parameters, std::uint64_t step) {
  for (const Parameter& parameter : parameters) {
    if (!parameter.space().partition().active()) continue;
    const Space X(Partition::simulated(1), parameter.space().shape());
    parameter.leaf().mutable_grad() = random_part(X, 0, 10 * step + parameter.name().size(), true);
  }
}

void expect_same(const std::vector<Parameter>& ours, const std::vector<Parameter>& theirs) {
  const at::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i].space().partition().active()) continue;
    const at::Tensor a = ours[i].get().local(), b = theirs[i].get().local();
    EXPECT_LE(a.sub(b).abs().max().item<double>(), 1e-12 * b.abs().max().item<double>()) << ours[i].name();
  }
}

std::vector<MakeOptimizer> makes() {
  return {[](auto store) { return std::make_unique<SGD>(store, SGDOptions{.momentum = 0.9}); },
          [](auto store) { return std::make_unique<AdamW>(store); },
          [](auto store) { return std::make_unique<Lamb>(store); },
          [](auto store) { return std::make_unique<Adafactor>(store); }};
}

TEST(WholeOnSeveralStages, TrainsAndIsSavedAsOnOneWorker) {
  for (const MakeOptimizer& make : makes()) {
    const auto placed = parameters_on(half(0), half(1)), reference = parameters_on(this_one(), this_one());
    const auto later = parameters_on(half(1), half(0));
    const auto ours = make(whole(placed)), theirs = make(whole(reference)), then = make(whole(later));
    SCOPED_TRACE(ours->name());
    LossScale scale({.initial = 4}), other({.initial = 4});
    const auto step = [](Optimizer& optimizer, LossScale& by, const std::vector<Parameter>& all,
                         std::uint64_t number) {
      give(all, number);
      EXPECT_TRUE(by.unscale(*optimizer.store()));
      const double norm = clip_gradients(*optimizer.store(), 0.5);
      optimizer.step();
      optimizer.zero_gradients();
      return norm;
    };
    for (std::uint64_t i = 0; i < 3; ++i) {
      const double norm = step(*theirs, other, reference, i);
      EXPECT_NEAR(step(*ours, scale, placed, i), norm, 1e-12 * norm);
    }
    expect_same(placed, reference);

    const SavedState saved(Partition::world(), ours->state());
    saved.load(then->state());
    then->loaded();
    EXPECT_EQ(then->steps(), 3);
    step(*theirs, other, reference, 3);
    step(*then, scale, later, 3);
    expect_same(later, reference);
  }
}

/// A gradient that is not finite on one worker of one stage.
TEST(WholeOnSeveralStages, HasOneAnswer) {
  const auto placed = parameters_on(half(0), half(1));
  AdamW optimizer(placed);
  LossScale scale({.initial = 4, .hysteresis = 1});
  give(placed, 1);
  if (Runtime::rank() == Runtime::size() - 1)
    placed[2].leaf().mutable_grad()[0][0] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(scale.unscale(*optimizer.store()));
  EXPECT_EQ(scale.value(), 2);
  EXPECT_FALSE(std::isfinite(clip_gradients(*optimizer.store(), 1)));
  EXPECT_ERROR(optimizer.step(), "the gradient of other has an element that is NaN or infinite");
}

/// Who has none of the parameters is told so, and by the model's store knows what the others do.
TEST(WholeOnSeveralStages, KnowsWhoTakesPart) {
  const std::vector<Parameter> first{parameters_on(half(0), half(0))};
  const auto store = whole(first);
  give(first, 1);
  LossScale scale({.initial = 4});
  if (half(0).active()) {
    EXPECT_TRUE(scale.unscale(*store));
    EXPECT_GT(clip_gradients(*store, 1), 0);
  } else {
    EXPECT_ERROR(scale.unscale(*store), "LossScale: this worker has none of the parameters", "whole(model)");
    EXPECT_ERROR(clip_gradients(*store, 1), "clip_gradients: this worker has none of the parameters");
  }
}

/// A product on each of two stages. The second's weights are large, so that a large gradient of what it gives
/// overflows on the first stage alone.
class TwoProducts : public Layer<TwoProducts> {
 public:
  explicit TwoProducts(const ModelSpaces& spaces) : Layer("", spaces) {
    initialise(1, at::kDouble);
    for (Parameter& parameter : parameters())
      parameter.set(at::full(parameter.shape(), parameter.name() == "a.weight" ? 1e-12 : 1e10, at::kDouble));
  }
  Vector forward(const Vector& x) { return b_(a_(x)); }
  std::string describe() const override { return "two products"; }

 private:
  Linear a_{*this, "a", "bc,cf->bf", {.bias = false}};
  Linear b_{*this, "b", "bf,fc->bc", {.bias = false}};
};

/// Stages that take turns without a pipeline. Another pass goes back after gradients were clipped, and is not
/// finite on the first stage, which the loss does not lie on: all ask, and all say the same.
TEST(WholeOnSeveralStages, AskAllAfterABackwardOfStagesInTurns) {
  const Roles roles{{'b', {Role::batch}}, {'c', {Role::width, 3}}, {'f', {Role::whole, 2}}};
  TwoProducts model(Stages({spaces::one_d(half(0)), spaces::one_d(half(1))}, roles, {{"b", 1}}));
  SGD optimizer(whole(model));
  const auto go_back = [&](double scale) {
    const Chain chain;
    const Space X = model.spaces_of("a").stream("bc").with_shape({4, 3});
    backward(scale * sum(model(distribute(X, at::ones({4, 3}, at::kDouble))), {}, {.all_reduce = true}));
  };
  go_back(1);
  EXPECT_GT(clip_gradients(*optimizer.store(), 1e20), 0);
  go_back(1e300);

  EXPECT_ERROR(optimizer.step(), "the gradient of a.weight has an element that is NaN or infinite");

  EXPECT_EQ(optimizer.steps(), 0);
  optimizer.zero_gradients();
  go_back(1);
  EXPECT_GT(clip_gradients(*optimizer.store(), 1e20), 0);
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 1);
}

}  // namespace
}  // namespace riesz::testing
