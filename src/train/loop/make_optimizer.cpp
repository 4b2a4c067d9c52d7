// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/make_optimizer.h"

#include <vector>

#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/group.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/one_cycle.h"
#include "riesz/optim/rate_range_test.h"
#include "riesz/optim/schedule.h"
#include "riesz/optim/sgd.h"
#include "riesz/train/config/parameter_groups.h"

namespace riesz {
namespace {

/// A group that says nothing of decay has that of all, which may be `of_matrices` alone.
void add(std::vector<Group>& groups, const ParameterGroup& group, double rate,
         const std::optional<double>& of_matrices) {
  const double scale = group.learning_rate ? *group.learning_rate / rate : 1;
  const auto has = [group](const Parameter& parameter) { return group.has(parameter); };
  if (of_matrices && !group.weight_decay)
    groups.push_back({[has](const Parameter& parameter) { return has(parameter) && matrices()(parameter); },
                      scale, of_matrices});
  groups.push_back({has, scale, group.weight_decay});
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Config::Optimizer& config,
                                          const std::shared_ptr<Store>& store, const Partition& sharers) {
  const auto& [kind, rate, beta1, beta2, epsilon, momentum, weight_decay, decays, clip, freeze, own] = config;
  const bool by_shape = decays == "matrices";
  const double decay = by_shape ? 0 : weight_decay;
  const std::optional<double> of_matrices = by_shape ? std::optional(weight_decay) : std::nullopt;
  std::vector<Group> groups;
  for (const ParameterGroup& group : parameter_groups(own, "optimizer.groups"))
    add(groups, group, rate, of_matrices);
  if (by_shape) groups.push_back({.has = matrices(), .weight_decay = weight_decay});
  if (kind == "sgd")
    return std::make_unique<SGD>(
        store, SGDOptions{.learning_rate = rate, .momentum = momentum, .weight_decay = decay}, groups);
  if (kind == "adam")
    return std::make_unique<Adam>(store, AdamOptions{rate, beta1, beta2, epsilon, decay}, groups);
  if (kind == "lamb")
    return std::make_unique<Lamb>(store, LambOptions{rate, beta1, beta2, epsilon, decay}, groups);
  if (kind == "adafactor")
    return std::make_unique<Adafactor>(store, AdafactorOptions{.learning_rate = rate, .weight_decay = decay},
                                       groups);
  if (kind == "one_bit_adam")
    return std::make_unique<OneBitAdam>(
        store, sharers, OneBitAdamOptions{rate, beta1, beta2, epsilon, decay, freeze}, groups);
  return std::make_unique<AdamW>(store, AdamWOptions{rate, beta1, beta2, epsilon, decay}, groups);
}

Pace pace(const Config::Schedule& s, double highest_rate, std::int64_t steps, std::int64_t step) {
  if (s.kind == "constant") return {warm_up_constant(step, s.warm_up, highest_rate), {}};
  if (s.kind == "linear") return {warm_up_linear(step, s.warm_up, steps, highest_rate, s.floor), {}};
  if (s.kind == "range_test")
    return {RateRangeTest{s.floor, s.growth, s.interval, s.stairs > 0}.learning_rate(step), {}};
  if (s.kind == "one_cycle") {
    const OneCycle cycle{.least_rate = s.floor,
                         .greatest_rate = highest_rate,
                         .first_steps = s.rise,
                         .second_steps = s.fall,
                         .first_stairs = s.stairs,
                         .second_stairs = s.stairs,
                         .rate_decay = s.decay,
                         .decay_steps = s.decay_steps,
                         .least_momentum = s.least_momentum,
                         .greatest_momentum = s.greatest_momentum};
    return {cycle.learning_rate(step), cycle.momentum(step)};
  }
  return {warm_up_cosine(step, s.warm_up, steps, highest_rate, s.floor), {}};
}

}  // namespace riesz
