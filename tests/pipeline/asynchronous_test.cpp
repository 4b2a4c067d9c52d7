// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules that update weights between their passes train what one worker does that reads the same versions.
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulation.h"
#include "placed.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/optim/state.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/under_way.h"
#include "riesz/testing/error.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr int kRuns = 2;

/// An update after each micro-batch; backward reads what forward did.
Schedule stashing(Schedule table) {
  for (std::vector<Action>& row : table.rows) {
    std::map<int, int> newest;
    std::map<std::pair<int, int>, int> read;
    for (Action& action : row) {
      if (action.pass == Pass::idle) continue;
      action.version =
          read.emplace(std::pair(action.chunk, action.micro_batch), newest[action.chunk]).first->second;
      action.update = action.pass == Pass::backward || action.pass == Pass::backward_weights;
      newest[action.chunk] += action.update;
    }
  }
  return table;
}

/// The same, but each chunk's last update is left out: the gradients since the one before stay.
Schedule with_some_left(Schedule table) {
  for (std::vector<Action>& row : table.rows) {
    std::map<int, Action*> last;
    for (Action& action : row) {
      if (action.update) last[action.chunk] = &action;
    }
    for (const auto& [chunk, action] : last) action->update = false;
  }
  return table;
}

struct Case {
  std::string name;
  Schedule table;
  PlacedCourse course;
  MakeOptimizer optimizer;
  bool recompute = false;
  std::optional<int> zero = {};  // its stage, of each chunk's
  bool goes_back = false;        // to the state after its first run
};

std::unique_ptr<Optimizer> with_momentum(const std::shared_ptr<Store>& store) {
  return std::make_unique<SGD>(store, SGDOptions{.learning_rate = 0.05, .momentum = 0.9});
}

std::unique_ptr<Optimizer> with_adam(const std::shared_ptr<Store>& store) {
  return std::make_unique<AdamW>(store,
                                 AdamWOptions{.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1});
}

PlacedCourse course_on(int pp, bool tp) {
  PlacedCourse course;
  course.config.layers = 4;
  course.batch = 3;
  course.micro_batches = 1;  // of a batch of its own
  course.pp = pp;
  course.tp = tp && Runtime::size() / pp % 2 == 0 ? 2 : 1;
  course.dp = Runtime::size() / pp / course.tp;
  return course;
}

std::vector<int> stages_here() {
  switch (Runtime::size()) {
    case 4:
      return {2, 4};
    case 6:
      return {3};
    case 8:
      return {4};
    default:
      return {Runtime::size()};
  }
}

std::vector<Case> cases(int p) {
  const PlacedCourse dp = course_on(p, false), tp = course_on(p, true);
  using namespace schedules;
  std::vector<Case> all = {
      {"pipedream", with_some_left(pipedream({.stages = p, .micro_batches = p + 3})), tp, with_momentum},
      {"pipedream, recompute", with_some_left(pipedream({.stages = p, .micro_batches = p + 1})), dp,
       with_adam, true, 1},
      {"two_bw", two_bw({.stages = p, .micro_batches = 3 * p}), dp, with_adam, false, p % 2, true},
      {"ampnet, 1", ampnet({.stages = p, .micro_batches = p + 3, .update_interval = 1, .in_flight = p + 1}),
       dp, with_momentum},
      {"ampnet, 2",
       with_some_left(
           ampnet({.stages = p, .micro_batches = p + 4, .update_interval = 2, .in_flight = p + 1})),
       dp, with_adam, false, 2},
      {"zb_h1 with stashed weights", stashing(zb_h1({.stages = p, .micro_batches = p + 2})), tp, with_adam}};
  if (p <= 2)
    all.push_back({"interleaved with stashed weights",
                   stashing(interleaved({.stages = p, .micro_batches = 2 * p, .chunks = 2})), dp,
                   with_momentum, false, 1});
  return all;
}

/// What a worker sends over dp in a run: at each update their pieces of its gradients to the others, and its
/// piece of the values to each of them.
std::int64_t sent_by_updates(const Case& c, const Pipeline& pipeline) {
  const int team = c.course.dp, worker = Runtime::rank() / team;
  std::int64_t sent = 0;
  for (const Action& action : c.table.rows[static_cast<std::size_t>(worker)]) {
    if (!action.update) continue;
    std::int64_t all = 0;
    for (const Parameter& p : pipeline.parameters(action.chunk)) all += p.numel();
    const std::int64_t mine = Split::balanced(all, team)[Runtime::rank() % team].size();
    sent += all - mine + (team - 1) * mine;
  }
  return sent;
}

/// Elements that this worker has sent over dp for buckets since recording began, which ends here.
std::int64_t sent_over_dp() {
  finish_background();
  std::int64_t sent = 0;
  for (const TrafficRecord& record : Counters::instance().records()) {
    const bool of_a_bucket = record.operation.find(" of ") != std::string::npos;
    if (of_a_bucket && record.operation.ends_with(" over dp")) sent += record.traffic.elements;
  }
  Counters::instance().record(false);
  return sent;
}

/// Trains by `go`, and then loads the state from before, as if it had not.
void go_and_come_back(const Partition& all, const std::map<int, std::unique_ptr<Optimizer>>& optimizers,
                      const std::function<void()>& go) {
  const auto state = [&] {
    State views;
    for (const auto& [chunk, optimizer] : optimizers) {
      for (StateView& view : optimizer->state()) views.push_back(std::move(view));
    }
    return views;
  };
  const SavedState saved(all, state());
  go();
  saved.load(state());
  for (const auto& [chunk, optimizer] : optimizers) optimizer->loaded();
}

TrainingRun piped(const Case& c) {
  const PlacedCourse& course = c.course;
  const Partition all = Partition::world();
  models::MinGpt model(stages_of(course, all.grid({{"pp", course.pp}, {"dp", course.dp}, {"tp", course.tp}}),
                                 c.table.worker_of),
                       course.config);
  const Pipeline pipeline(model, c.table);
  model.initialise(kPlacedSeed, at::kDouble);
  if (c.recompute) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks, .every = 2});
  TrainingRun run;
  for (const Parameter& p : model.parameters()) run.initial[p.name()] = known_to_all(all, p.get());
  std::deque<Zero> zeros;
  std::map<int, std::unique_ptr<Optimizer>> optimizers;
  for (int chunk = 0; chunk < c.table.chunks(); ++chunk) {
    const std::vector<Parameter> parameters = pipeline.parameters(chunk);
    if (c.zero) zeros.emplace_back(parameters, ZeroOptions{.stage = *c.zero});
    optimizers[chunk] = c.optimizer(c.zero ? zeros.back().store() : whole(parameters));
  }
  const auto go = [&](int number) {
    const std::vector<double> losses = pipeline.train(
        [&](std::int64_t i) {
          return loss_of(course, model, number * c.table.micro_batches + static_cast<int>(i), 0);
        },
        [&](int chunk) {
          optimizers.at(chunk)->step();
          optimizers.at(chunk)->zero_gradients();
        });
    return losses;
  };
  for (int number = 0; number < kRuns; ++number) {
    if (c.zero) Counters::instance().record(true);
    run.results["losses of run " + std::to_string(number)] = at::tensor(go(number), at::kDouble);
    if (c.zero) {
      EXPECT_EQ(sent_over_dp(), sent_by_updates(c, pipeline));
    }
    for (const Parameter& p : model.parameters())
      run.results[concat("left by run ", number, " of ", p.name())] = known_to_all(all, p.gradient());
    const auto worker = static_cast<std::size_t>(Runtime::rank() / (course.dp * course.tp));
    EXPECT_EQ(pipeline.versions(), under_way(c.table).versions[worker]);
    if (c.goes_back && number == 0) {
      go_and_come_back(all, optimizers, [&] { go(number); });
      for (const Parameter& p : model.parameters()) p.get();  // a Zero gathers what was loaded, once
    }
  }
  for (const Parameter& p : model.parameters()) run.results[p.name()] = known_to_all(all, p.get());
  return run;
}

TrainingRun emulated(const Case& c) {
  const PlacedCourse& course = c.course;
  const Partition alone = Partition::world().subset({Runtime::rank()});
  models::MinGpt model(spaces::one_d(alone.grid({{"dp", 1}, {"tp", 1}})), course.config);
  model.initialise(kPlacedSeed, at::kDouble);
  TrainingRun run;
  for (const Parameter& p : model.parameters()) run.initial[p.name()] = p.get().local();
  const Stages stages =
      stages_of(course, Partition::world().grid({{"pp", course.pp}, {"dp", course.dp}, {"tp", course.tp}}),
                c.table.worker_of);
  Emulation emulation(
      model, c.table, [&](const std::string& name) { return stages.named(name).value_or(0); }, c.optimizer);
  for (int number = 0; number < kRuns; ++number) {
    const std::vector<double> losses = emulation.run([&](std::int64_t i) {
      return loss_of(course, model, number * c.table.micro_batches + static_cast<int>(i), 0);
    });
    run.results["losses of run " + std::to_string(number)] = at::tensor(losses, at::kDouble);
    for (const auto& [name, gradient] : emulation.left())
      run.results[concat("left by run ", number, " of ", name)] = gradient;
  }
  for (const Parameter& p : model.parameters()) run.results[p.name()] = p.get().local();
  return run;
}

/// Each case is emulated on one of the ranks, all of which know what the pipeline gave. Four ranks and more
/// run those with a Zero, and every second one of the others; on 4 stages 4 ranks or 8.
TEST(Asynchronous, UpdatesAreThoseOfAnEmulationWithTheSameVersions) {
  int number = 0, every = 0;
  for (const int p : stages_here()) {
    for (const Case& c : cases(p)) {
      if (every++ % 2 == 1 && Runtime::size() >= 4 && !c.zero) continue;
      SCOPED_TRACE(concat(c.name, " on pp ", p, ", dp ", c.course.dp, ", tp ", c.course.tp));
      const TrainingRun run = piped(c);
      if (number++ % Runtime::size() != Runtime::rank()) continue;
      EXPECT_TRUE(compare_runs(run, emulated(c)));
    }
  }
}

/// A chunk of frozen parameters has no update.
TEST(Asynchronous, UpdatesWhatIsTrainedAlone) {
  PlacedCourse course = course_on(1, false);
  const Schedule table = stashing(schedules::interleaved({.stages = 1, .micro_batches = 2, .chunks = 2}));
  models::MinGpt model(
      stages_of(course, Partition::world().grid({{"pp", 1}, {"dp", course.dp}, {"tp", 1}}), table.worker_of),
      course.config);
  model.initialise(kPlacedSeed, at::kDouble);
  const Pipeline pipeline(model, table);
  for (Parameter parameter : pipeline.parameters(1)) parameter.freeze();
  std::vector<int> updates;
  pipeline.train([&](std::int64_t i) { return loss_of(course, model, static_cast<int>(i), 0); },
                 [&](int chunk) { updates.push_back(chunk); });
  EXPECT_EQ(updates, (std::vector{0, 0}));
}

TEST(Asynchronous, RefusesWhatHasNoVersions) {
  const int p = stages_here().back();
  PlacedCourse course = course_on(p, false);
  const Partition mesh = Partition::world().grid({{"pp", p}, {"dp", course.dp}, {"tp", 1}});
  const auto none = [](int) {};
  const auto train = [&](models::MinGpt& model, const Schedule& table) {
    Pipeline(model, table).train([&](std::int64_t) { return loss_of(course, model, 0, 0); }, none);
  };
  const Schedule updating = schedules::pipedream({.stages = p, .micro_batches = 2});
  models::MinGpt model(stages_of(course, mesh), course.config);
  model.initialise(kPlacedSeed, at::kDouble);
  EXPECT_ERROR(Pipeline(model, updating).train([&](std::int64_t) { return loss_of(course, model, 0, 0); }),
               "the schedule updates weights between its passes", "train(loss, update)");
  EXPECT_ERROR(train(model, schedules::gpipe({.stages = p, .micro_batches = 2})), "has no updates",
               "train(loss), and step");
  Parameter kept = Pipeline(model, updating).parameters(0).front();
  const Vector other = kept.get();
  EXPECT_ERROR(kept.use_leaf(Vector(kept.space().partial("dp"), other.local())), "takes no leaf of");
  const Zero zero(Pipeline(model, updating).parameters(0), {.stage = 3});
  EXPECT_ERROR(kept.use_leaf(other), "kept elsewhere (riesz::Zero)", "it takes no other leaf");
  EXPECT_ERROR(train(model, updating), "transformer.wte.weight is kept by riesz::Zero",
               "take stage 0, 1 or 2", "pipeline.parameters(chunk)");
  course.config.tied = true;
  models::MinGpt tied(stages_of(course, mesh), course.config);
  tied.initialise(kPlacedSeed, at::kDouble);
  if (p == 1) return;
  EXPECT_ERROR(train(tied, updating), "transformer.wte.weight is lent to stage");
}

/// Chunks of one worker that share a parameter.
TEST(Asynchronous, RefusesAParameterOfSeveralChunks) {
  if (Runtime::size() > 1) return;
  PlacedCourse course = course_on(1, false);
  course.config.tied = true;
  const Schedule table = stashing(schedules::interleaved({.stages = 1, .micro_batches = 2, .chunks = 2}));
  models::MinGpt model(
      stages_of(course, Partition::world().grid({{"pp", 1}, {"dp", 1}, {"tp", 1}}), table.worker_of),
      course.config);
  model.initialise(kPlacedSeed, at::kDouble);
  const Pipeline pipeline(model, table);
  const Zero zero(pipeline.parameters(0));
  EXPECT_ERROR(pipeline.train([&](std::int64_t i) { return loss_of(course, model, static_cast<int>(i), 0); },
                              [](int) {}),
               "transformer.wte.weight of chunk 0 is read outside of its chunk too", "after 1B0");
}

}  // namespace
}  // namespace riesz::testing
