// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "routed.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "../models/plain_families.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/freeze.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/tokens.h"
#include "riesz/zero/stage_zeros.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSequences = 5, kTokens = 7, kWords = 97;
constexpr AdamWOptions kRoutedAdam{.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1};

template <typename Config>
Config routed_config(const RoutedCourse& course) {
  Config config;
  config.layers = course.layers, config.heads = 6, config.key_value_heads = 3, config.width = 18;
  config.head_width = 4, config.hidden = 10, config.vocabulary = kWords, config.context = 8;
  config.rotary_base = 100, config.balance_weight = 0.5, config.balanced = true;
  config.experts = course.experts, config.experts_per_token = course.experts_per_token;
  if constexpr (requires { config.expert_hidden; }) config.expert_hidden = 7;
  return config;
}

riesz::Layout routed_layout(const RoutedCourse& course) {
  const Partition all = Partition::world().grid(
      {{"pp", course.pp}, {"dp", course.dp}, {"sp", course.sp}, {"ep", course.ep}, {"tp", course.tp}});
  std::vector<riesz::Layout> stages;
  std::map<std::string, int> stage_of{{"model.norm", course.pp - 1}, {"lm_head", course.pp - 1}};
  const Split blocks = Split::balanced(course.layers, course.pp);
  for (int stage = 0; stage < course.pp; ++stage) {
    const Partition mesh = all.at("pp", stage);
    stages.push_back(course.sharded_stream ? spaces::sequence_parallel(mesh, course.sequence)
                                           : spaces::one_d(mesh, course.sequence));
    for (std::int64_t i = blocks[stage].begin; i < blocks[stage].end; ++i)
      stage_of["model.layers." + std::to_string(i)] = stage;
  }
  return spaces::with_experts(spaces::placed(std::move(stages), std::move(stage_of)), course.ep_like);
}

Interval routed_rows(const RoutedCourse& course, std::int64_t i) {
  return Split::balanced(kSequences, course.micro_batches)[static_cast<int>(i)];
}

TokenDraws draws_of(const RoutedCourse& course) { return {course.seed, kSequences, kTokens, kWords}; }

at::Tensor scalar(double value) { return at::scalar_tensor(value, at::kDouble); }

void freeze_some(const RoutedCourse& course, const Module& model) {
  if (!course.frozen.empty()) freeze(model, course.frozen);
  if (!course.trained.empty()) freeze_all_but(model, course.trained);
}

template <typename Model, typename Config>
TrainingRun run_of(const RoutedCourse& course) {
  Model model(routed_layout(course), routed_config<Config>(course));
  model.initialise(course.seed, at::kDouble);
  freeze_some(course, model);
  if (course.recompute) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  TrainingRun run;
  run.add_initial(model);
  const Pipeline pipeline(
      model, make_schedule(course.schedule, {.stages = course.pp, .micro_batches = course.micro_batches}));
  std::optional<StageZeros> zeros;
  if (course.zero)
    zeros.emplace(model,
                  ZeroOptions{.stage = *course.zero, .axes = {"dp", "sp", "ep"}, .bucket = 3000, .keep = 50});
  const std::shared_ptr<Store> store = zeros ? zeros->store() : whole(model);
  AdamW optimizer(store, kRoutedAdam);
  for (int step = 0; step < course.steps; ++step) {
    const at::Tensor ids = drawn_ids(draws_of(course), step), targets = drawn_targets(draws_of(course), step);
    const auto count = targets.ge(0).sum().item<double>();
    const std::vector<double> losses = pipeline.train([&](std::int64_t i) {
      const Interval rows = routed_rows(course, i);
      const ContextScope scope(
          {.training = true, .seed = course.seed, .step = step, .first_row = rows.begin, .rows = kSequences});
      const Predictions given = model(on(model.tokens(), ids.narrow(0, rows.begin, rows.size())));
      const Vector aims = on(model.targets(), targets.narrow(0, rows.begin, rows.size()));
      const double share = static_cast<double>(rows.size()) / kSequences;
      return (1 / count) * cross_entropy(given.logits, aims).sum + share * *given.loss;
    });
    run.results["loss of step " + std::to_string(step)] =
        scalar(std::accumulate(losses.begin(), losses.end(), 0.0));
    if (step == 0) run.add_gradients(model);
    run.results["norm of step " + std::to_string(step)] = scalar(clip_gradients(*store, 1e6));
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

/// A step's loss, whose gradients it leaves at the weights.
template <typename Plainly>
double go_plainly(const RoutedCourse& course, int step, const Plainly& plainly) {
  const at::Tensor ids = drawn_ids(draws_of(course), step), targets = drawn_targets(draws_of(course), step);
  const auto count = targets.ge(0).sum().item<double>();
  double sum = 0;
  for (int i = 0; i < course.micro_batches; ++i) {
    const Interval rows = routed_rows(course, i);
    const plain::Predictions given = plainly(ids.narrow(0, rows.begin, rows.size()));
    const at::Tensor aims = targets.narrow(0, rows.begin, rows.size()).reshape({-1});
    const at::Tensor of_words =
        at::cross_entropy_loss(given.logits.reshape({-1, kWords}), aims, {}, at::Reduction::Sum, -1);
    const double share = static_cast<double>(rows.size()) / kSequences;
    const at::Tensor loss = of_words / count + given.loss * share;
    loss.backward();
    sum += loss.item<double>();
  }
  return sum;
}

bool decays_in_routed(const std::string& name) {
  return !name.ends_with("norm.weight") && !name.ends_with(".bias") && name != "model.embed_tokens.weight";
}

template <typename Model, typename Config, typename Plainly>
TrainingRun plain_run_of(const RoutedCourse& course, const Plainly& plainly) {
  const Config config = routed_config<Config>(course);
  Model model(spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}})), config);
  model.initialise(course.seed, at::kDouble);
  freeze_some(course, model);
  TrainingRun run;
  run.add_initial(model);
  plain::Weights leaves;
  std::map<std::string, std::vector<std::int64_t>> published;
  std::set<std::string> frozen;
  for (const Parameter& each : model.parameters()) {
    leaves[each.name()] = run.initial.at(each.name()).clone().requires_grad_();
    published[each.name()] = each.shape();
    if (!each.trained()) frozen.insert(each.name());
  }
  plain::AdamWState state;
  for (int step = 0; step < course.steps; ++step) {
    plain::Weights weights;
    for (const auto& [name, shape] : published) weights[name] = leaves.at(name).view(shape);
    const double loss =
        go_plainly(course, step, [&](const at::Tensor& ids) { return plainly(config, weights, ids); });
    run.results["loss of step " + std::to_string(step)] = scalar(loss);
    at::Tensor squares = at::zeros({}, at::kDouble);
    for (auto& [name, leaf] : leaves) {
      const at::NoGradGuard no_gradient;
      if (frozen.contains(name)) leaf.mutable_grad().zero_();
      squares += leaf.grad().square().sum();
      if (step == 0) run.results["gradient of " + name] = leaf.grad().clone();
    }
    run.results["norm of step " + std::to_string(step)] = squares.sqrt();
    plain::adamw(leaves, state, kRoutedAdam.learning_rate, kRoutedAdam.epsilon, kRoutedAdam.weight_decay,
                 [&](const std::string& name) { return !frozen.contains(name) && decays_in_routed(name); });
  }
  for (const auto& [name, leaf] : leaves) run.results[name + " after training"] = leaf.detach();
  return run;
}

}  // namespace

std::string to_string(const RoutedCourse& course) {
  return concat(course.shared ? "Qwen2-MoE" : "Mixtral", " of ", course.layers, " layers, ",
                course.experts_per_token, " of ", course.experts, " experts, ", course.schedule, " of ",
                course.micro_batches, ", pp ", course.pp, ", dp ", course.dp, ", sp ", course.sp,
                course.sequence == Sequence::ulysses ? " (ulysses)" : "", ", ep ", course.ep, " like ",
                course.ep_like, ", tp ", course.tp, course.sharded_stream ? ", sequence parallel" : "",
                course.recompute ? ", recompute blocks" : "",
                course.zero ? concat(", ZeRO ", *course.zero) : "",
                course.frozen.empty() ? "" : ", " + course.frozen.front() + " … frozen",
                course.trained.empty() ? "" : ", " + course.trained.front() + " … trained");
}

int ranks_of(const RoutedCourse& course) { return course.pp * course.dp * course.sp * course.ep * course.tp; }

TrainingRun train_routed(const RoutedCourse& course) {
  return course.shared ? run_of<models::Qwen2Moe, models::Qwen2MoeConfig>(course)
                       : run_of<models::Mixtral, models::MixtralConfig>(course);
}

TrainingRun train_routed_plainly(const RoutedCourse& course) {
  return course.shared ? plain_run_of<models::Qwen2Moe, models::Qwen2MoeConfig>(course, plain::qwen2_moe)
                       : plain_run_of<models::Mixtral, models::MixtralConfig>(course, plain::mixtral);
}

}  // namespace riesz::testing
