// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/pipeline.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/pipeline/run/borrowed.h"
#include "riesz/pipeline/run/executor.h"
#include "riesz/pipeline/run/weight_versions.h"
#include "riesz/pipeline/schedule/verify.h"
#include "riesz/primitives/backward_passes.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

const std::vector<Action> kNoActions;

const std::vector<Action>& row_of(const Schedule& schedule, int worker) {
  return worker < 0 ? kNoActions : schedule.rows[static_cast<std::size_t>(worker)];
}

template <typename Which>
bool any_action(const Schedule& schedule, const Which& which) {
  return std::any_of(schedule.rows.begin(), schedule.rows.end(),
                     [&](const auto& row) { return std::any_of(row.begin(), row.end(), which); });
}

bool has(const Schedule& schedule, Pass pass) {
  return any_action(schedule, [&](const Action& action) { return action.pass == pass; });
}

bool has_updates(const Schedule& schedule) {
  return any_action(schedule, [](const Action& action) { return action.update; });
}

/// Has each row all of its forward passes before the others?
bool forward_first(const Schedule& schedule) {
  const auto is_forward = [](const Action& action) { return action.pass == Pass::forward; };
  const auto other = [&](const Action& a) { return a.pass != Pass::idle && !is_forward(a); };
  return std::all_of(schedule.rows.begin(), schedule.rows.end(), [&](const auto& row) {
    return std::none_of(std::find_if(row.begin(), row.end(), other), row.end(), is_forward);
  });
}

/// What runs again at this worker's recompute actions; nothing: the schedule has none.
auto recomputed(const Schedule& schedule, int worker) {
  std::optional<std::set<std::pair<int, std::int64_t>>> all;
  if (!has(schedule, Pass::recompute)) return all;
  all.emplace();
  for (const Action& action : row_of(schedule, worker)) {
    if (action.pass == Pass::recompute) all->emplace(action.chunk, action.micro_batch);
  }
  return all;
}

std::vector<int> workers_of(const Partition& home) {
  std::vector<int> workers = home.workers();
  std::sort(workers.begin(), workers.end());
  return workers;
}

/// Those of one row's chunks lie on the same workers, those of different rows on different ones.
void check_homes(const std::vector<Partition>& homes, const std::vector<int>& rows) {
  std::vector<std::vector<int>> workers;
  for (const Partition& home : homes) workers.push_back(workers_of(home));
  for (std::size_t a = 0; a < homes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const std::vector<int>& first = workers[b];
      const std::vector<int>& second = workers[a];
      std::vector<int> both;
      std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                            std::back_inserter(both));
      const bool apart = both.empty();
      RIESZ_CHECK(rows[a] == rows[b] ? first == second : apart, "Pipeline: the schedule gives chunks ", b,
                  " and ", a, rows[a] == rows[b] ? " to one worker" : " to different workers",
                  ", but the stages lie on\n  ", to_string(homes[b]), " of ranks ",
                  list_text(homes[b].workers()), "\nand\n  ", to_string(homes[a]), " of ranks ",
                  list_text(homes[a].workers()), "\nplace stage c on grid.at(\"pp\", schedule.worker_of[c])");
    }
  }
}

/// By micro-batch, from where the losses lie.
LateNumbers known_to_all(const Partition& all, const std::vector<std::optional<Vector>>& losses) {
  std::vector<at::Tensor> numbers;
  for (const std::optional<Vector>& loss : losses) {
    RIESZ_CHECK(loss && loss->space() == losses.front()->space(),
                "Pipeline: the losses of micro-batches lie in different spaces; compute each by the same "
                "module, on the same stage");
    numbers.push_back(loss->local().to(at::kDouble).reshape({-1}));
  }
  if (losses.empty()) return {};
  const at::NoGradGuard no_gradient;
  const auto m = static_cast<std::int64_t>(losses.size());
  const Partition& there = losses.front()->space().partition();
  const at::Tensor mine =
      there.active() ? at::stack(numbers).reshape({m}) : at::empty({0}, numbers.front().options());
  return LateNumbers(between(Space(there, {m}), Space(all, {m}))({Space(there, {m}), mine}).local());
}

/// Each micro-batch is a pass. (Where weights have versions, the keepers see none.)
void tell_keepers(const Module& model, std::int64_t micro_batches) {
  static std::atomic<std::uint64_t> last(0);
  const std::uint64_t run = ++last;
  for (const Parameter& parameter : model.parameters()) {
    if (const auto keeper = parameter.keeper()) keeper->come(run, micro_batches);
  }
}

/// Versions of its values are this worker's alone.
void check_updatable(const LentParameter& lent) {
  throw_error(concat("Pipeline::train: the parameter ", lent.owner.name(), " is lent to stage ", lent.stage,
                     " (tied weights), which has no versions of it; with a schedule that updates weights "
                     "between its passes give each stage parameters of its own"));
}

void check_updatable(const Parameter& parameter) {
  RIESZ_CHECK(
      parameter.stays(), "Pipeline::train: the parameter ", parameter.name(),
      " is kept by riesz::Zero in stage 3, in which workers have pieces of it, and no versions are made of "
      "those; with a schedule that updates weights between its passes take stage 0, 1 or 2, or give "
      "optimizers pipeline.parameters(chunk) themselves");
}

}  // namespace

Pipeline::Pipeline(const Module& model, Schedule schedule)
    : model_(model), schedule_(std::move(schedule)), forward_only_(forward_only(schedule_)) {
  RIESZ_CHECK(model.stages() != nullptr,
              "Pipeline: the model is not placed; make it of spaces::placed, or of Stages");
  const Stages& stages = *model.stages();
  verify(schedule_);
  RIESZ_CHECK(stages.size() == schedule_.chunks(), "Pipeline: the model has ", stages.size(),
              " stages, the schedule ", schedule_.chunks(),
              " chunks; it needs a stage for each: place the model on as many, stage c where "
              "schedule.worker_of[c] lies, or make the schedule with other `stages` or `chunks`");
  for (int stage = 0; stage < stages.size(); ++stage) homes_.push_back(stages.spaces(stage).mesh());
  check_homes(homes_, schedule_.worker_of);
  for (std::size_t stage = 0; stage < homes_.size(); ++stage) {
    if (homes_[stage].active()) worker_ = schedule_.worker_of[stage];
  }
}

LateNumbers Pipeline::train(const std::function<Vector(std::int64_t)>& loss,
                            std::vector<Timed>* record) const {
  RIESZ_CHECK(
      !has_updates(schedule_),
      "Pipeline::train: the schedule updates weights between its passes, and who steps them has to be "
      "told when: call train(loss, update), where update(chunk) steps an optimizer of "
      "pipeline.parameters(chunk)");
  return run(loss, nullptr, record);
}

LateNumbers Pipeline::train(const std::function<Vector(std::int64_t)>& loss,
                            const std::function<void(int)>& update) const {
  RIESZ_CHECK(has_updates(schedule_),
              "Pipeline::train: the schedule has no updates, so `update` would never be called; call "
              "train(loss), and step the optimizer after it");
  for (const LentParameter& lent : model_.lent()) check_updatable(lent);
  for (const Parameter& parameter : model_.parameters()) check_updatable(parameter);
  std::map<int, std::vector<Parameter>> mine;
  for (int chunk = 0; chunk < schedule_.chunks(); ++chunk) {
    if (schedule_.worker_of[static_cast<std::size_t>(chunk)] == worker_) mine[chunk] = parameters(chunk);
  }
  WeightVersions versions(row_of(schedule_, worker_), mine, update);
  LateNumbers losses = run(loss, &versions, nullptr);
  versions_ = versions.most();
  return losses;
}

LateNumbers Pipeline::run(const std::function<Vector(std::int64_t)>& loss, WeightVersions* versions,
                          std::vector<Timed>* record) const {
  RIESZ_CHECK(at::GradMode::is_enabled(),
              "Pipeline::train: gradients are not recorded here (a NoGradGuard?); ",
              "evaluate() goes forward alone");
  RIESZ_CHECK(has(schedule_, Pass::backward) || has(schedule_, Pass::backward_inputs),
              "Pipeline::train: the schedule has no backward passes; evaluate() goes forward alone");
  const Partition& all = model_.stages()->workers();
  count_backward_pass(all);  // also on a stage that has nothing to go back through
  const bool weights_apart = has(schedule_, Pass::backward_weights);
  const RunChannels channels(schedule_.micro_batches);
  if (versions == nullptr) tell_keepers(model_, schedule_.micro_batches);
  Borrowed borrowed(model_.lent());
  Executor run(
      schedule_.micro_batches, row_of(schedule_, worker_),
      {.channels = &channels,
       .backward = true,
       .weights_apart = weights_apart,
       .recompute = recomputed(schedule_, worker_),
       .stages = model_.stages(),
       .comes_back = versions == nullptr && forward_first(schedule_)},
      [&](std::int64_t i) { return std::optional(loss(i)); }, borrowed, versions, record);
  run();
  borrowed.give_back();
  return known_to_all(all, run.losses());
}

void Pipeline::check_chunk(const char* what, int chunk) const {
  RIESZ_CHECK(chunk >= 0 && chunk < schedule_.chunks(), "Pipeline::", what, ": there is no chunk ", chunk,
              "; they are 0 to ", schedule_.chunks() - 1);
}

const Partition& Pipeline::workers(int chunk) const {
  check_chunk("workers", chunk);
  return homes_[static_cast<std::size_t>(chunk)];
}

std::vector<Parameter> Pipeline::parameters(int chunk) const {
  check_chunk("parameters", chunk);
  std::vector<Parameter> all;
  for (const Parameter& parameter : model_.parameters()) {
    if (parameter.trained() && model_.stages()->named(parameter.name()).value_or(0) == chunk)
      all.push_back(parameter);
  }
  return all;
}

void Pipeline::evaluate(const std::function<void(std::int64_t)>& call) const {
  const at::NoGradGuard no_gradient;
  const auto forward = [&](std::int64_t i) {
    call(i);
    return std::optional<Vector>();
  };
  const RunChannels channels(schedule_.micro_batches);
  Borrowed borrowed(model_.lent());
  Executor(schedule_.micro_batches, row_of(forward_only_, worker_),
           {.channels = &channels, .backward = false, .stages = model_.stages()}, forward, borrowed)();
}

}  // namespace riesz
