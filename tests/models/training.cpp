// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "training.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "plain_min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

at::Tensor draws(const Problem& problem, const std::string& name, int step) {
  at::Tensor ids = at::empty({problem.batch, problem.sequence}, at::kLong);
  auto* data = ids.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const auto word =
        philox(philox_key(kSeed, name), static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(step))[0];
    data[i] = word % problem.config.vocabulary;
  }
  return ids;
}

bool decays(const std::string& name) {
  const bool table = name == "transformer.wte.weight" || name == "transformer.wpe.weight";
  return name.ends_with(".weight") && name.find(".ln_") == std::string::npos && !table;
}

std::vector<std::unique_ptr<Zero>> zero_of_each_partition(const std::vector<Parameter>& parameters,
                                                          int stage) {
  std::vector<Partition> partitions;
  std::vector<std::unique_ptr<Zero>> zeros;
  for (const Parameter& first : parameters) {
    const Partition& P = first.space().partition();
    if (std::find(partitions.begin(), partitions.end(), P) != partitions.end()) continue;
    partitions.push_back(P);
    std::vector<Parameter> there;
    for (const Parameter& parameter : parameters)
      if (parameter.space().partition() == P) there.push_back(parameter);
    zeros.push_back(std::make_unique<Zero>(there, ZeroOptions{.stage = stage, .keep = 50}));
  }
  return zeros;
}

std::shared_ptr<Store> several_of(const std::vector<std::unique_ptr<Zero>>& zeros) {
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& zero : zeros) stores.push_back(zero->store());
  return several(std::move(stores));
}

}  // namespace

at::Tensor ids_of(const Problem& problem, int step) { return draws(problem, "ids", step); }

at::Tensor targets_of(const Problem& problem, int step) {
  at::Tensor targets = draws(problem, "targets", step);
  targets.view({-1}).slice(0, 0, std::nullopt, 5).fill_(-1);
  return targets;
}

TrainingRun train(const Problem& problem, const Partition& mesh, int steps) {
  return train(problem, spaces::one_d(mesh), steps);
}

TrainingRun train(const Problem& problem, const riesz::Layout& layout, int steps) {
  return train(problem, ModelSpaces(layout, problem.config.roles()), steps);
}

TrainingRun train(const Problem& problem, const ModelSpaces& spaces, int steps, std::optional<int> zero) {
  models::MinGpt model(spaces, problem.config);
  model.initialise(kSeed, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::vector<std::unique_ptr<Zero>> zeros;
  if (zero) zeros = zero_of_each_partition(model.parameters(), *zero);
  AdamW optimizer(zero ? several_of(zeros) : whole(model.parameters()),
                  {.learning_rate = kLearningRate, .epsilon = kEpsilon, .weight_decay = kWeightDecay});
  const Space tokens = model.tokens().with_shape({problem.batch, problem.sequence});
  const Space aims = model.targets().with_shape({problem.batch, problem.sequence});
  for (int step = 0; step < steps; ++step) {
    const ContextScope scope({.training = true, .seed = kSeed, .step = step});
    Chain chain;
    const Vector logits = model(distribute(tokens, ids_of(problem, step)));
    const Loss loss = cross_entropy(logits, distribute(aims, targets_of(problem, step)));
    const Vector mean = loss.mean();
    backward(mean);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, mean);
    if (step == 0) run.results["logits"] = TrainingRun::gathered(model, logits);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

TrainingRun train_plainly(const Problem& problem, const TrainingRun& one_worker, int steps) {
  // Published shapes: the views of c_attn, c_proj and their biases flattened as Hugging Face stores them.
  const std::int64_t C = problem.config.width;
  plain::Weights weights;
  for (const auto& [name, w] : one_worker.initial) {
    const bool attn = name.find(".attn.c_") != std::string::npos;
    const at::Tensor flat = !attn ? w : (name.ends_with(".bias") ? w.reshape({-1}) : w.reshape({C, -1}));
    weights[name] = flat.clone().requires_grad_();
  }
  TrainingRun run;
  run.initial = one_worker.initial;
  plain::AdamWState state;
  const Partition alone = Partition::simulated(1);
  for (int step = 0; step < steps; ++step) {
    const auto drop = [&](const std::string& place, const at::Tensor& x) {
      const Space whole(alone, x.sizes().vec());
      const models::MinGptConfig& c = problem.config;
      const auto p = place.ends_with("attn_dropout")       ? c.attention_dropout
                     : place.ends_with("transformer.drop") ? c.embedding_dropout
                                                           : c.residual_dropout;
      return x * detail::dropout_mask(whole, philox_key(kSeed, place), static_cast<std::uint64_t>(step),
                                      p.value_or(c.dropout), x.options());
    };
    const at::Tensor logits = plain::min_gpt(problem.config, weights, ids_of(problem, step), drop);
    const at::Tensor loss = plain::cross_entropy(logits, targets_of(problem, step));
    loss.backward();
    run.results["loss of step " + std::to_string(step)] = loss.detach();
    if (step == 0) run.results["logits"] = logits.detach();
    for (const auto& [name, w] : weights) {
      if (step == 0)
        run.results["gradient of " + name] = w.grad().clone().view(one_worker.initial.at(name).sizes());
    }
    plain::adamw(weights, state, kLearningRate, kEpsilon, kWeightDecay, decays);
  }
  for (const auto& [name, w] : weights) {
    run.results[name + " after training"] = w.detach().view(one_worker.initial.at(name).sizes());
  }
  return run;
}

}  // namespace riesz::testing
