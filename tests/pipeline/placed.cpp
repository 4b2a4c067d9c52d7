// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "placed.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "riesz/comm/on_device.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/freeze.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/partitioner/stage_grids.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/tokens.h"

namespace riesz::testing {
namespace {

/// All workers of the job, as stages, dp and tp.
Partition mesh_of(const PlacedCourse& course) {
  if (course.plan) return Partition::world();
  return Partition::world().grid({{"pp", course.pp}, {"dp", course.dp}, {"tp", course.tp}});
}

Partition this_worker() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}); }

/// Of a step, of all its runs.
int all_micro_batches(const PlacedCourse& course) { return course.runs * course.micro_batches; }

/// The sequences of micro-batch i of a step.
Interval rows_of(const PlacedCourse& course, int i) {
  return Split::balanced(course.batch, all_micro_batches(course))[i];
}

Vector logits_of(const PlacedCourse& course, models::MinGpt& model, bool training, int step, int i) {
  const TokenDraws draws{kPlacedSeed, course.batch, course.config.context, course.config.vocabulary};
  const Interval rows = rows_of(course, i);
  const ContextScope scope({.training = training,
                            .seed = kPlacedSeed,
                            .step = step,
                            .first_row = rows.begin,
                            .rows = course.batch});
  const at::Tensor ids = drawn_ids(draws, step).narrow(0, rows.begin, rows.size());
  return model(on(model.tokens(), on_device(ids, course.device)));
}

/// Parameters by chunk; all of them where there is one.
std::map<int, std::vector<Parameter>> by_chunk(const Module& model) {
  std::map<int, std::vector<Parameter>> all;
  for (const Parameter& parameter : model.parameters()) {
    const bool placed = model.stages() != nullptr;
    all[placed ? model.stages()->named(parameter.name()).value_or(0) : 0].push_back(parameter);
  }
  return all;
}

models::MinGpt& initialised(const PlacedCourse& course, models::MinGpt& model) {
  model.initialise(kPlacedSeed, course.type, course.device);
  set_recompute(model, course.recompute);
  freeze(model, course.frozen);
  return model;
}

/// `loss(step)` leaves a step's gradients at the parameters.
TrainingRun train(const PlacedCourse& course, const Partition& all, models::MinGpt& model,
                  const std::shared_ptr<Store>& store, const std::function<double(int step)>& loss) {
  TrainingRun run;
  const auto keep = [&](std::map<std::string, at::Tensor>& tensors, const std::string& prefix,
                        const auto& of) {
    for (const Parameter& parameter : model.parameters())
      tensors[prefix + parameter.name()] = known_to_all(all, of(parameter));
  };
  const auto value = [](const Parameter& parameter) { return parameter.get(); };
  keep(run.initial, "", value);
  const std::unique_ptr<Optimizer> optimizer =
      course.optimizer
          ? course.optimizer(store)
          : std::make_unique<AdamW>(
                store, AdamWOptions{.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1});
  for (int step = 0; step < course.steps; ++step) {
    run.results["loss of step " + std::to_string(step)] = at::tensor(loss(step), at::kDouble);
    if (step == 0) keep(run.results, "gradient of ", [](const Parameter& p) { return p.gradient(); });
    optimizer->step();
    optimizer->zero_gradients();
  }
  keep(run.results, "after training ", value);
  return run;
}

/// The same one micro-batch after another, each loss computed, known and gone back through at once.
TrainingRun train_in_turn(const PlacedCourse& course, const Partition& all, models::MinGpt& model) {
  PlacedState state(course, initialised(course, model));
  return train(course, all, model, state.store(), [&](int step) {
    double sum = 0;
    for (int i = 0; i < all_micro_batches(course); ++i) {
      state.begin(i);
      const Chain chain;
      const Vector loss = loss_of(course, model, step, i);
      sum += known_to_all(all, loss).to(at::kDouble).item<double>();
      backward(loss);
    }
    return sum;
  });
}

}  // namespace

Vector loss_of(const PlacedCourse& course, models::MinGpt& model, int step, std::int64_t i) {
  const TokenDraws draws{kPlacedSeed, course.batch, course.config.context, course.config.vocabulary};
  const at::Tensor targets = drawn_targets(draws, step);
  const auto count = static_cast<double>(targets.ge(0).sum().item<std::int64_t>());
  const Interval rows = rows_of(course, static_cast<int>(i));
  const Vector logits = logits_of(course, model, true, step, static_cast<int>(i));
  const at::Tensor of_rows = on_device(targets.narrow(0, rows.begin, rows.size()), course.device);
  return (course.scale / count) * cross_entropy(logits, on(model.targets(), of_rows)).sum;
}

at::Tensor known_to_all(const Partition& all, const Vector& x) {
  const at::NoGradGuard no_gradient;
  return between(x.space(), Space(all, x.space().shape()))({x.space(), x.local().detach()})
      .local()
      .clone()
      .cpu();
}

std::string to_string(const PlacedCourse& course) {
  using Regions = RecomputePolicy::Regions;
  const RecomputePolicy& again = course.recompute;
  const std::string every = again.every > 1 ? concat(" every ", again.every) : "";
  return concat(course.schedule, course.recomputing ? " recomputing" : "", " of ", course.micro_batches,
                course.runs > 1 ? concat(" x ", course.runs) : "", ", ", course.chunks,
                " chunks a worker, pp ", course.pp, ", dp ", course.dp, ", tp ", course.tp,
                again.regions == Regions::blocks ? ", blocks again" + every : "",
                again.regions == Regions::attention ? ", attention again" : "",
                course.zero ? concat(", ZeRO ", course.zero->stage) : "", course.config.tied ? ", tied" : "");
}

Schedule schedule_of(const PlacedCourse& course) {
  return make_schedule(course.schedule, {.stages = course.pp,
                                         .micro_batches = course.micro_batches,
                                         .chunks = course.chunks > 1 ? course.chunks : 0,
                                         .recompute = course.recomputing});
}

Stages stages_of(const PlacedCourse& course, const Partition& mesh) {
  return stages_of(course, mesh, schedule_of(course).worker_of);
}

namespace {

Stages stages_of(const PlacedCourse& course, const StagePlan& plan) {
  std::vector<Layout> layouts;
  for (const Partition& grid : stage_grids(plan, Partition::world())) layouts.push_back(spaces::one_d(grid));
  return Stages(layouts, course.config.roles(), plan.placement);
}

}  // namespace

Stages stages_of(const PlacedCourse& course, const Partition& mesh, const std::vector<int>& worker_of) {
  if (course.plan) return stages_of(course, *course.plan);
  std::vector<Layout> layouts;
  for (const int worker : worker_of) layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  const int n = static_cast<int>(layouts.size());
  std::map<std::string, int> stage_of{{"transformer.ln_f", n - 1}, {"lm_head", n - 1}};
  const Split blocks = Split::balanced(course.config.layers, n);
  for (int chunk = 0; chunk < n; ++chunk) {
    for (std::int64_t i = blocks[chunk].begin; i < blocks[chunk].end; ++i)
      stage_of["transformer.h." + std::to_string(i)] = chunk;
  }
  return Stages(layouts, course.config.roles(), stage_of);
}

PlacedState::PlacedState(const PlacedCourse& course, const models::MinGpt& model)
    : micro_batches_(all_micro_batches(course)) {
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& [chunk, parameters] : by_chunk(model)) {
    if (course.zero) zeros_.emplace_back(parameters, parameters.front().space().partition(), *course.zero);
    stores.push_back(course.zero ? zeros_.back().store() : whole(parameters));
  }
  store_ = several(stores);
}

void PlacedState::begin(int i) {
  for (Zero& zero : zeros_) zero.begin(i, micro_batches_);
}

PlacedModel::PlacedModel(const PlacedCourse& course)
    : course_(course),
      model_(stages_of(course, mesh_of(course)), course.config),
      pipeline_(model_, schedule_of(course)),
      state_(course, initialised(course, model_)) {}

double PlacedModel::go(int step) {
  double sum = 0;
  for (int run = 0; run < course_.runs; ++run) {
    const std::vector<double> losses = pipeline_.train([&](std::int64_t i) {
      const int number = run * course_.micro_batches + static_cast<int>(i);
      state_.begin(number);
      return loss_of(course_, model_, step, number);
    });
    sum = std::accumulate(losses.begin(), losses.end(), sum);
  }
  return sum;
}

std::vector<at::Tensor> PlacedModel::evaluate() {
  std::map<std::int64_t, Vector> logits;
  pipeline_.evaluate(
      [&](std::int64_t i) { logits.emplace(i, logits_of(course_, model_, false, 0, static_cast<int>(i))); });
  std::vector<at::Tensor> known;
  for (const auto& [i, each] : logits) known.push_back(known_to_all(Partition::world(), each));
  return known;
}

std::vector<at::Tensor> evaluate_alone(const PlacedCourse& course) {
  const at::NoGradGuard no_gradient;
  models::MinGpt model(spaces::one_d(this_worker()), course.config);
  initialised(course, model);
  std::vector<at::Tensor> logits;
  for (int i = 0; i < course.micro_batches; ++i)
    logits.push_back(logits_of(course, model, false, 0, i).local());
  return logits;
}

TrainingRun train_placed(const PlacedCourse& course) {
  PlacedModel placed(course);
  return train(course, Partition::world(), placed.model(), placed.state().store(),
               [&](int step) { return placed.go(step); });
}

TrainingRun train_naively(const PlacedCourse& course) {
  models::MinGpt model(stages_of(course, mesh_of(course)), course.config);
  return train_in_turn(course, Partition::world(), model);
}

TrainingRun train_alone(const PlacedCourse& course) {
  models::MinGpt model(spaces::one_d(this_worker()), course.config);
  return train_in_turn(course, this_worker(), model);
}

}  // namespace riesz::testing
