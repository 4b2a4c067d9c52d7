// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A family of models beside its plain implementation, at many layouts, with caches and without.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plain_families.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/loss/predictions.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {

inline constexpr int kFamilySteps = 3;
inline constexpr double kFamilyRate = 0.1;

/// Integers of any shape below n, others at each step; alike on all workers.
inline at::Tensor numbers_of(std::vector<std::int64_t> shape, std::int64_t n, int step) {
  std::int64_t count = 1;
  for (const std::int64_t each : shape) count *= each;
  const at::Tensor i = at::arange(count, at::kLong).add(17 * step + 3);
  return at::remainder(i.mul(i).add(i), n).view(shape);
}

/// How one family is trained: what it reads and is compared with at a step, by Riesz and plainly.
template <typename Model, typename Config>
struct FamilyCase {
  Config config;
  std::function<at::Tensor(int step)> input, target;
  std::function<Space(const Model&)> reads;
  std::function<plain::Predictions(const plain::Weights&, int step)> plainly;
};

/// The axes over which gradients are summed.
inline std::vector<std::string> summed(const Partition& mesh) {
  std::vector<std::string> axes;
  for (const char* axis : {"dp", "sp", "ep"})
    if (mesh.find(axis) >= 0) axes.emplace_back(axis);
  return axes;
}

template <typename Model, typename Config>
TrainingRun train_family(const FamilyCase<Model, Config>& family, const riesz::Layout& layout,
                         std::optional<int> stage = {}) {
  Model model(layout, family.config);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::optional<Zero> zero;
  if (stage)
    zero.emplace(model.parameters(), ZeroOptions{.stage = *stage, .axes = summed(layout.mesh), .keep = 50});
  SGD optimizer(zero ? zero->store() : whole(model.parameters()),
                {.learning_rate = kFamilyRate, .momentum = 0.9});
  for (int step = 0; step < kFamilySteps; ++step) {
    Chain chain;
    const at::Tensor input = family.input(step), target = family.target(step);
    const Predictions given = model(distribute(family.reads(model).with_shape(input.sizes().vec()), input));
    const Space aims = model.targets().with_shape(target.sizes().vec());
    Vector loss = cross_entropy(given.logits, distribute(aims, target)).mean();
    if (given.loss) loss = loss + *given.loss;
    backward(loss);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, loss);
    if (step == 0) run.results["logits"] = TrainingRun::gathered(model, given.logits);
    if (step == 0 && given.loss) run.results["own loss"] = TrainingRun::gathered(model, *given.loss);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

template <typename Model, typename Config>
TrainingRun train_family_plainly(const FamilyCase<Model, Config>& family, const TrainingRun& one_worker,
                                 const std::vector<Parameter>& parameters) {
  plain::Weights leaves, weights, momentum;
  for (const auto& [name, w] : one_worker.initial) leaves[name] = w.clone().requires_grad_();
  TrainingRun run;
  run.initial = one_worker.initial;
  for (int step = 0; step < kFamilySteps; ++step) {
    for (const Parameter& each : parameters) weights[each.name()] = leaves.at(each.name()).view(each.shape());
    const plain::Predictions given = family.plainly(weights, step);
    at::Tensor loss = plain::cross_entropy(given.logits, family.target(step));
    if (given.loss.defined()) loss = loss + given.loss;
    loss.backward();
    run.results["loss of step " + std::to_string(step)] = loss.detach();
    if (step == 0) run.results["logits"] = given.logits.detach();
    if (step == 0 && given.loss.defined()) run.results["own loss"] = given.loss.detach();
    const at::NoGradGuard no_gradient;
    for (auto& [name, w] : leaves) {
      if (step == 0) run.results["gradient of " + name] = w.grad().clone();
      at::Tensor& m = momentum[name];
      m = m.defined() ? m * 0.9 + w.grad() : w.grad().clone();
      w.sub_(m * kFamilyRate);
      w.mutable_grad().reset();
    }
  }
  for (const auto& [name, w] : leaves) run.results[name + " after training"] = w.detach();
  return run;
}

struct FamilyLayout {
  riesz::Layout (*make)(const Partition&, Sequence);
  Sequence sequence;
  std::vector<Axis> axes;
  std::optional<int> stage = {};
  std::string ep_like = "";  ///< what ep is a part of outside of experts, if there is an axis ep

  riesz::Layout made(const Partition& mesh) const {
    const riesz::Layout layout = make(mesh, sequence);
    return ep_like.empty() ? layout : spaces::with_experts(layout, ep_like);
  }
};

inline std::vector<FamilyLayout> family_layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<FamilyLayout> all{{one_d, Sequence::whole, {{"dp", p}}, 3},
                                {one_d, Sequence::whole, {{"tp", p}}},
                                {sequence_parallel, Sequence::whole, {{"tp", p}}},
                                {one_d, Sequence::ring, {{"sp", p}}},
                                {one_d, Sequence::ulysses, {{"sp", p}}}};
  if (p % 2 == 0 && p > 2) {
    all.push_back({two_d, Sequence::whole, {{"row", p / 2}, {"column", 2}}});
    all.push_back({sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", p / 2}}, 2});
  }
  if (p == 8) all.push_back({three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}});
  return all;
}

/// With experts on an axis of their own: beside data, or tensor parallelism.
inline std::vector<FamilyLayout> expert_layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<FamilyLayout> all{{one_d, Sequence::whole, {{"dp", 1}, {"ep", p}}, 3, "dp"},
                                {one_d, Sequence::whole, {{"tp", 1}, {"ep", p}}, {}, "tp"}};
  if (p % 2 == 0 && p > 2) {
    all.push_back({one_d, Sequence::whole, {{"dp", 2}, {"ep", p / 2}}, 2, "dp"});
    all.push_back({sequence_parallel, Sequence::whole, {{"ep", 2}, {"tp", p / 2}}, {}, "dp"});
  }
  return all;
}

inline std::vector<FamilyLayout> family_layouts_with_experts() {
  std::vector<FamilyLayout> all = family_layouts();
  for (FamilyLayout& each : expert_layouts()) all.push_back(std::move(each));
  return all;
}

template <typename Model, typename Config>
void expect_the_published_model_at_every_layout(const FamilyCase<Model, Config>& family,
                                                const std::vector<FamilyLayout>& layouts) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train_family(family, spaces::one_d(alone));
  const std::vector<Parameter> parameters = Model(spaces::one_d(alone), family.config).parameters();
  EXPECT_TRUE(compare_runs(one_worker, train_family_plainly(family, one_worker, parameters)));
  for (const FamilyLayout& layout : layouts) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const riesz::Layout made = layout.made(mesh);
    EXPECT_TRUE(compare_runs(train_family(family, made, layout.stage), one_worker))
        << made.name << " on " << to_string(mesh);
  }
}

/// The cache gives what the whole forward gives, token after token.
template <typename Model, typename Config>
void expect_caches_to_give_the_whole(Config config, const std::vector<FamilyLayout>& layouts) {
  config.context = 8;
  const at::NoGradGuard no_gradient;
  const at::Tensor ids = numbers_of({3, 7}, config.vocabulary, 0);
  for (const FamilyLayout& layout : layouts) {
    if (layout.stage || layout.sequence == Sequence::ring) continue;
    Model model(layout.made(Partition::world().grid(layout.axes)), config);
    const auto logits_of = [&](const Vector& x) { return Predictions(model(x)).logits; };
    SCOPED_TRACE(model.spaces().layout().name);
    model.initialise(7, at::kDouble);
    const at::Tensor whole = full_tensor(logits_of(distribute(model.tokens().with_shape({3, 7}), ids)));
    ModelCache cache;
    for (const std::int64_t n : {4, 1, 2}) {
      const std::int64_t before = cache.positions();
      const at::Tensor next = ids.narrow(1, before, n);
      const CacheScope scope(cache, n);
      const Vector logits = logits_of(distribute(model.tokens().with_shape({3, n}), next));
      const at::Tensor apart = full_tensor(logits).sub(whole.narrow(1, before, n));
      EXPECT_LE(apart.abs().max().template item<double>(), 1e-12) << before;
    }
    const Vector two = distribute(model.tokens().with_shape({3, 2}), ids.narrow(1, 0, 2));
    const CacheScope scope(cache, 2);
    EXPECT_ERROR(model(two), "a sequence of 9 tokens", "context of 8");
  }
}

}  // namespace riesz::testing
