// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/finite.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "layouts.h"
#include "own_terms.h"
#include "riesz/comm/counters.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// One element of what this worker holds.
void spoil(const Parameter& parameter, double with) {
  parameter.value().local().mutable_grad().view({-1})[0] = with;
}

std::vector<at::Tensor> all_of(Store& store, const Optimizer& optimizer) {
  std::vector<at::Tensor> tensors;
  for (const Share& share : store.shares()) tensors.push_back(share.value.clone());
  for (const StateView& view : optimizer.kept()) tensors.push_back(view.tensor.clone());
  return tensors;
}

/// A step is refused by all, and changes nothing, where gradients are not finite on some workers: of whole
/// parameters on one alone, of unevenly shared ones on those that hold the element.
void expect_refused(const MakeOptimizer& make, const Partition& mesh, bool shared) {
  const auto parameters = some_parameters(mesh, at::kDouble);
  const std::shared_ptr<Store> store = shared ? uneven(parameters) : whole(parameters);
  const auto optimizer = make(store);
  const auto step = [&](std::uint64_t number) {
    optimizer->zero_gradients();
    give_gradients(parameters, number);
    optimizer->step();
  };
  step(0);
  const auto before = all_of(*store, *optimizer);
  optimizer->zero_gradients();
  give_gradients(parameters, 1);
  if (shared || mesh.rank() == mesh.size() - 1) spoil(parameters[5], kNaN);
  if (shared ? mesh.coordinate(mesh.rank(), mesh.index("tp")) == 0 : mesh.rank() == 0)
    spoil(parameters[7], -kInfinity);

  EXPECT_ERROR(optimizer->step(), ": step 2: the gradient of zero has an element that is NaN or infinite",
               "no value is changed");

  EXPECT_EQ(optimizer->steps(), 1);
  const auto after = all_of(*store, *optimizer);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_SAME_BITS(after[i], before[i]);
}

/// Of replicas only one is counted in a norm; one that has come apart from it is seen all the same.
TEST(Finite, IsEveryReplicaThatIsClipped) {
  const Partition mesh = Partition::world();
  Parameter w("w", Space(mesh, {3}), {Initial::ones(), true});
  w.initialise(1, at::kDouble);
  SGD optimizer({w});
  w.value().local().mutable_grad() = at::zeros({3}, at::kDouble);
  if (mesh.rank() == mesh.size() - 1) spoil(w, kNaN);

  EXPECT_TRUE(std::isnan(clip_gradients(*optimizer.store(), 1)));
  EXPECT_ERROR(optimizer.step(), "the gradient of w has an element that is NaN or infinite");
}

TEST(Finite, NoOptimizerTakesAGradientThatIsNot) {
  const std::vector<MakeOptimizer> makes{
      [](auto store) { return std::make_unique<SGD>(store, SGDOptions{.momentum = 0.9}); },
      [](auto store) { return std::make_unique<AdamW>(store); },
      [](auto store) { return std::make_unique<Lamb>(store); },
      [](auto store) { return std::make_unique<Adafactor>(store); }};
  for (const Partition& mesh : meshes()) {
    for (const MakeOptimizer& make : makes) {
      for (const bool shared : {false, true}) expect_refused(make, mesh, shared);
    }
  }
}

/// Each of the workers' own terms counts.
TEST(Finite, NorAreTermsThatAreNot) {
  const Partition P = Partition::world().grid({{"dp", Partition::world().size()}});
  Parameter w("w", Space(P, {4}), {});
  w.initialise(1, at::kDouble);
  const auto store = std::make_shared<OwnTerms>(std::vector<Parameter>{w});
  OneBitAdam optimizer(store, P, {.freeze_step = 1});
  optimizer.step();
  w.value().local().mutable_grad() = at::zeros({4}, at::kDouble);
  if (P.rank() == P.size() - 1) spoil(w, kInfinity);
  store->summed = false;
  EXPECT_ERROR(optimizer.step(), "OneBitAdam: step 2: the gradient of w");
}

TEST(Finite, IsSeenOnce) {
  const Partition mesh = meshes().front();
  const auto parameters = some_parameters(mesh, at::kDouble);
  const auto store = whole(parameters);
  AdamW optimizer(store);
  const auto sent = [&](const std::function<void()>& what) {
    Counters::instance().reset();
    what();
    return Counters::instance().total().elements;
  };
  const auto step = [&] { optimizer.step(); };
  const std::int64_t one = mesh.rank() == 0 ? mesh.size() - 1 : 1;  // the first tells all

  give_gradients(parameters, 1);
  EXPECT_EQ(sent(step), mesh.size() == 1 ? 0 : one);
  EXPECT_EQ(sent([&] { clip_gradients(*store, 1); }), mesh.size() == 1 ? 0 : one);
  EXPECT_EQ(sent(step), 0);
  EXPECT_EQ(sent(step), mesh.size() == 1 ? 0 : one);  // that was said of one step
  LossScale scale({.initial = 2});
  EXPECT_TRUE(scale.unscale(*store));
  EXPECT_EQ(sent(step), 0);

  clip_gradients(*store, 1);
  store->zero_gradients();
  give_gradients(parameters, 2);
  EXPECT_EQ(sent(step), mesh.size() == 1 ? 0 : one);  // others have come
}

/// Of another micro-batch, after the first one's were clipped: on one worker's shard alone.
TEST(Finite, IsAskedOfAllAfterAnotherBackward) {
  const Partition world = Partition::world();
  const Space X = Space(world, {world.size()}).sharded(0, "world");
  Parameter w("w", X, {Initial::ones(), true});
  w.initialise(1, at::kDouble);
  SGD optimizer({w});
  const auto go_back = [&](bool spoilt) {
    const Chain chain;
    const double gradient = spoilt && world.rank() == world.size() - 1 ? kNaN : 1;
    backward(w.value(), {dual(X), at::full({1}, gradient, at::kDouble)});
  };
  go_back(false);
  EXPECT_GT(clip_gradients(*optimizer.store(), 100), 0);
  go_back(true);
  EXPECT_ERROR(optimizer.step(), "the gradient of w has an element that is NaN or infinite");
  EXPECT_EQ(optimizer.steps(), 0);
}

/// Of another model on the first worker alone, between clipping and the step: the others do not know of it,
/// and the step of a model that all have asks none of them.
TEST(Finite, IsAskedOfNobodyAfterABackwardOfFewer) {
  const Partition world = Partition::world(), first = world.subset({0});
  for (const bool one_optimizer : {true, false}) {
    SCOPED_TRACE(one_optimizer);
    Parameter w("w", Space(world, {3}), {Initial::ones(), true}), v("v", Space(first, {2}), {Initial::ones()});
    w.initialise(1, at::kDouble);
    v.initialise(1, at::kDouble);
    SGD all(one_optimizer ? std::vector<Parameter>{w, v} : std::vector<Parameter>{w}), few({v});
    const auto go_back = [](const Parameter& of) {
      const Space& X = of.space();
      const Chain chain;
      backward(of.value(), {dual(X), at::ones(X.shape(), at::kDouble)});
    };
    const auto go_back_on_few = [&] {
      if (first.active()) go_back(v);
    };
    go_back(w);
    go_back_on_few();
    EXPECT_GT(clip_gradients(*all.store(), 100), 0);
    go_back_on_few();
    Counters::instance().reset();

    all.step();
    if (!one_optimizer && first.active()) few.step();

    EXPECT_EQ(Counters::instance().total().messages, 0) << "if the others are asked here, they ask alone";
    EXPECT_EQ(all.steps(), 1);
  }
}

/// What is changed after it was seen is looked at where it was changed.
TEST(Finite, IsSeenAgainWhereGradientsChange) {
  const auto parameters = some_parameters(alone(), at::kDouble);
  const auto store = whole(parameters);
  SGD optimizer(store);
  give_gradients(parameters, 1);
  clip_gradients(*store, 1);
  for (const Share& share : store->shares()) share.gradient.mul_(2);
  optimizer.step();

  clip_gradients(*store, 1);
  spoil(parameters[2 + 1], kNaN);
  EXPECT_ERROR(optimizer.step(), "the gradient of bias");

  clip_gradients(*store, 1);  // NaN
  give_gradients(parameters, 2);
  clip_gradients(*store, 1);
  for (const Parameter& parameter : parameters) {
    if (parameter.value().local().grad().defined()) spoil(parameter, kInfinity);
  }
  EXPECT_ERROR(optimizer.step(), "the gradient of matrix");
}

}  // namespace
}  // namespace riesz::testing
