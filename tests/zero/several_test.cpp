// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Stores of parameters on different workers, as a pipeline's stages have, are one: one norm, one answer, and
// what both have counts once.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// The workers of a stage, of two: the first half of all, and the others; one worker is both.
Partition stage_of_two(int stage) {
  const int p = Runtime::size(), half = (p + 1) / 2;
  std::vector<int> ranks;
  for (int rank = 0; rank < p; ++rank) {
    if (p == 1 || (rank < half) == (stage == 0)) ranks.push_back(rank);
  }
  return Partition::world().subset(ranks).grid({{"dp", static_cast<int>(ranks.size())}});
}

std::vector<Parameter> made(std::vector<Parameter> parameters) {
  for (Parameter& parameter : parameters) parameter.initialise(5, at::kDouble);
  return parameters;
}

Parameter weight(const std::string& name, const Partition& P, std::vector<std::int64_t> shape) {
  return {name, Space(P, std::move(shape)), {Initial::normal(1), true}};
}

at::Tensor gradient_of(const Parameter& parameter, std::uint64_t step) {
  const Space whole(Partition::simulated(1), parameter.space().shape());
  return random_part(whole, 0, 100 * step + parameter.name().size(), true);
}

void give(Store& store, std::uint64_t step) {
  const at::NoGradGuard no_gradient;
  for (const Share& share : store.shares()) {
    if (share.gradient.numel() == 0) continue;
    const at::Tensor all = gradient_of(share.parameter, step).reshape({-1});
    share.gradient.copy_(all.narrow(0, share.begin, share.gradient.numel()));
  }
}

/// Two stages, which both have the weight "tied"; and the same parameters in one store on each worker.
struct Stages {
  explicit Stages(int stage)
      : first(made({weight("first", stage_of_two(0), {7, 5}), weight("tied", stage_of_two(0), {4, 3})})),
        second(made({weight("tied", stage_of_two(1), {4, 3}), weight("second.w", stage_of_two(1), {6, 2})})),
        alone(made({weight("first", one_worker(), {7, 5}), weight("tied", one_worker(), {4, 3}),
                    weight("second.w", one_worker(), {6, 2})})),
        zeros{Zero(first, {.stage = stage, .bucket = 1}), Zero(second, {.stage = stage, .bucket = 1})},
        both(several({zeros[0].store(), zeros[1].store()}, {"tied"})),
        one(whole(alone)) {}

  void expect_same_values() {
    const at::NoGradGuard no_gradient;
    std::size_t compared = 0;
    for (const auto& parameters : {first, second}) {
      for (const Parameter& parameter : parameters) {
        if (!parameter.space().partition().active()) continue;
        for (const Parameter& reference : alone) {
          if (reference.name() != parameter.name()) continue;
          const at::Tensor a = parameter.get().local(), b = reference.get().local();
          EXPECT_LE(a.sub(b).abs().max().item<double>(), 1e-12 * b.abs().max().item<double>())
              << parameter.name();
          ++compared;
        }
      }
    }
    EXPECT_GE(compared, 2U);
  }

  std::vector<Parameter> first, second, alone;
  Zero zeros[2];
  std::shared_ptr<Store> both, one;
};

TEST(Several, HaveOneNorm) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Stages stages(stage);
    give(*stages.both, 1);
    double squares = 0;
    for (const Parameter& parameter : stages.alone)
      squares += gradient_of(parameter, 1).square().sum().item<double>();
    const double norm = clip_gradients(*stages.both, 0.5);
    EXPECT_NEAR(norm, std::sqrt(squares), 1e-13 * norm);
    EXPECT_NEAR(clip_gradients(*stages.both, 1e9), 0.5, 1e-13);
  }
}

/// Of each element one worker counts, also of a weight that both have, and sums are of those.
TEST(Several, CountEachElementOnce) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Stages stages(stage);
    for (const Parameter& parameter : stages.alone) {
      std::int64_t mine = 0, all = 0;
      for (const Share& share : stages.both->shares()) {
        if (share.counted && share.parameter.name() == parameter.name()) mine += share.value.numel();
      }
      const at::Tensor counted = at::full({}, mine, at::kLong);
      for (const at::Tensor& theirs : collect("testing", data_parallel(), counted))
        all += theirs.item<std::int64_t>();
      EXPECT_EQ(all, parameter.numel()) << parameter.name();
    }
  }
}

/// Adafactor's rows of a weight that both have are of one. (LAMB's trust ratios would be the same of two.)
TEST(Several, TrainWhatOneStoreDoes) {
  for (const bool lamb : {true, false}) {
    for (const int stage : {0, 3}) {
      SCOPED_TRACE(::testing::Message() << (lamb ? "LAMB" : "Adafactor") << ", stage " << stage);
      Stages stages(stage);
      const auto make = [&](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
        if (lamb) return std::make_unique<Lamb>(std::move(store));
        return std::make_unique<Adafactor>(std::move(store));
      };
      const auto optimizer = make(stages.both), reference = make(stages.one);
      for (std::uint64_t step = 0; step < 3; ++step) {
        give(*stages.both, step);
        optimizer->step();
        optimizer->zero_gradients();
        for (const Parameter& parameter : stages.alone)
          parameter.leaf().mutable_grad() = gradient_of(parameter, step);
        reference->step();
        reference->zero_gradients();
      }
      stages.expect_same_values();
    }
  }
}

/// Two models whose parameters have the same names are two: one is a hundred times the other.
TEST(Several, TellParametersOfOneNameApart) {
  for (const bool lamb : {true, false}) {
    for (const int stage : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << (lamb ? "LAMB" : "Adafactor") << ", stage " << stage);
      const auto make = [&](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
        if (lamb) return std::make_unique<Lamb>(std::move(store));
        return std::make_unique<Adafactor>(std::move(store));
      };
      std::vector<Parameter> models, references;
      std::deque<Zero> zeros;
      std::vector<std::shared_ptr<Store>> stores;
      std::vector<std::unique_ptr<Optimizer>> alone;
      for (const double factor : {1.0, 100.0}) {
        for (auto* all : {&models, &references}) {
          all->push_back(
              made({weight("w", all == &models ? data_parallel() : one_worker(), {7, 5})}).front());
          all->back().set(all->back().get().local().mul(factor));
        }
        zeros.emplace_back(std::vector<Parameter>{models.back()}, ZeroOptions{.stage = stage});
        stores.push_back(zeros.back().store());
        alone.push_back(make(whole({references.back()})));
      }
      const auto both = several(stores);
      const auto optimizer = make(both);
      for (std::uint64_t step = 0; step < 3; ++step) {
        const at::Tensor gradient = gradient_of(references.front(), step);
        give(*both, step);
        const double norm = std::sqrt(2 * gradient.square().sum().item<double>());
        EXPECT_NEAR(clip_gradients(*both, 1e9), norm, 1e-13 * norm);
        optimizer->step();
        optimizer->zero_gradients();
        for (std::size_t k = 0; k < references.size(); ++k) {
          references[k].leaf().mutable_grad() = gradient.clone();
          alone[k]->step();
          alone[k]->zero_gradients();
        }
      }
      const at::NoGradGuard no_gradient;
      for (std::size_t k = 0; k < models.size(); ++k) {
        const at::Tensor a = models[k].get().local(), b = references[k].get().local();
        EXPECT_LE(a.sub(b).abs().max().item<double>(), 1e-12 * b.abs().max().item<double>()) << k;
      }
    }
  }
}

/// Also in one Zero, whose unit has both where they follow each other.
TEST(Several, ParametersOfOneNameMayBeInOneZero) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    std::vector<Parameter> models, references;
    for (const double factor : {1.0, 100.0}) {
      for (auto* all : {&models, &references}) {
        all->push_back(made({weight("w", all == &models ? data_parallel() : one_worker(), {7, 5})}).front());
        all->back().set(all->back().get().local().mul(factor));
      }
    }
    Zero zero(models, {.stage = stage, .bucket = 1});
    const std::vector<Group> second{
        {.has = among({models.back(), references.back()}), .learning_rate_scale = 3}};
    Lamb optimizer(zero.store(), {}, second), reference(whole({references[0]}), {}, second),
        other(whole({references[1]}), {}, second);
    for (std::uint64_t step = 0; step < 3; ++step) {
      give(*zero.store(), step);
      for (const Parameter& each : references) each.leaf().mutable_grad() = gradient_of(each, step);
      for (Lamb* each : {&optimizer, &reference, &other}) each->step(), each->zero_gradients();
    }
    const at::NoGradGuard no_gradient;
    for (std::size_t k = 0; k < models.size(); ++k) {
      const at::Tensor a = models[k].get().local(), b = references[k].get().local();
      EXPECT_LE(a.sub(b).abs().max().item<double>(), 1e-12 * b.abs().max().item<double>()) << k;
    }
  }
}

/// Both stores on all workers, which have other pieces of the weight in each.
TEST(Several, AreSavedAndLoadedWithWhatBothHave) {
  const at::NoGradGuard no_gradient;
  const Partition mesh = data_parallel();
  for (const int stage : {0, 1, 3}) {
    SCOPED_TRACE(stage);
    const std::vector<Parameter> first = made({weight("tied", mesh, {10, 10}), weight("first", mesh, {100})});
    const std::vector<Parameter> second =
        made({weight("second.w", mesh, {10}), weight("tied", mesh, {10, 10})});
    const Zero one(first, {.stage = stage}), other(second, {.stage = stage});
    const auto both = several({one.store(), other.store()}, {"tied"});
    const SavedState saved(Partition::world(), both->state());
    std::vector<at::Tensor> before;
    for (const auto& parameters : {first, second}) {
      for (Parameter parameter : parameters) {
        before.push_back(parameter.get().local().clone());
        parameter.set(at::zeros_like(before.back()));
      }
    }

    saved.load(both->state());
    both->updated();

    std::size_t next = 0;
    for (const auto& parameters : {first, second}) {
      for (const Parameter& parameter : parameters) {
        EXPECT_SAME_BITS(parameter.get().local(), before[next++]);
      }
    }
  }
}

/// Stores that lie on some workers only: saved at one stage of ZeRO, they go on at another.
TEST(Several, AreSavedAndLoadedWhereEachLiesOnSomeWorkers) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Stages one(stage), other((stage + 1) % 4);
    AdamW first(one.both), then(other.both), reference(other.one);
    const auto step = [](Optimizer& optimizer, Store& store, std::uint64_t i) {
      give(store, i);
      optimizer.step();
      optimizer.zero_gradients();
    };
    for (const std::uint64_t i : {0, 1, 2}) {
      for (const Parameter& parameter : other.alone)
        parameter.leaf().mutable_grad() = gradient_of(parameter, i);
      reference.step();
      reference.zero_gradients();
    }
    for (const std::uint64_t i : {0, 1}) step(first, *one.both, i);
    const SavedState saved(Partition::world(), first.state());
    saved.load(then.state());
    EXPECT_EQ(then.steps(), 2);
    step(then, *other.both, 2);
    other.expect_same_values();
  }
}

/// What is one worker's own: also where two stores' workers number themselves alike.
TEST(Several, KeepWhatIsAWorkersOwnApart) {
  const int p = Runtime::size();
  const Partition P = stage_of_two(Runtime::rank() < (p + 1) / 2 ? 0 : 1);
  const at::Tensor error = at::full({1}, Runtime::rank(), at::kDouble);
  const State state{{"tied", own_key("error", P), Space(P, {1}), {0, 1}, true, error}};
  const SavedState saved(Partition::world(), state);
  error.fill_(-1);
  saved.load(state);
  EXPECT_EQ(error.item<double>(), Runtime::rank());
}

/// One gradient that is not finite, in one store.
TEST(Several, HaveOneAnswer) {
  Stages stages(2);
  LossScale scale(LossScaleOptions{.initial = 4, .hysteresis = 1});
  give(*stages.both, 1);
  const std::vector<Share> shares = stages.zeros[1].store()->shares();
  if (shares.back().gradient.numel() > 0) shares.back().gradient[0] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(scale.unscale(*stages.both));
  EXPECT_EQ(scale.value(), 2);
  Lamb optimizer(stages.both);
  EXPECT_ERROR(optimizer.step(), "the gradient of second.w has an element that is NaN or infinite");
  stages.both->zero_gradients();
  give(*stages.both, 1);
  EXPECT_TRUE(scale.unscale(*stages.both));
  EXPECT_ERROR(several({}), "several: of no store");
}

/// What was finite before other gradients came, said to one store alone, is not known to be.
TEST(Several, LookAtGradientsThatCameThroughOne) {
  Stages stages(1);
  Lamb optimizer(stages.both);
  for (const bool by_begin : {false, true}) {
    give(*stages.both, 1);
    clip_gradients(*stages.both, 0.5);
    if (by_begin)
      stages.zeros[1].begin(0, 1);
    else
      stages.zeros[1].store()->zero_gradients();
    const Share last = stages.zeros[1].store()->shares().back();
    // As sums are written.
    if (last.gradient.numel() > 0)
      last.gradient.data_ptr<double>()[0] = std::numeric_limits<double>::infinity();
    EXPECT_ERROR(optimizer.step(), "the gradient of second.w has an element that is NaN or infinite");
    stages.both->zero_gradients();
  }
}

}  // namespace
}  // namespace riesz::testing
