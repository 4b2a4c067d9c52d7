// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "updating.h"

#include <ATen/ops/tensor.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "../pipeline/placed.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/adam.h"
#include "riesz/pipeline/schedule/make_schedule.h"

namespace riesz::testing {
namespace {

PlacedCourse course_on(at::Device device) {
  PlacedCourse course{.batch = 3, .micro_batches = 1, .pp = 2};
  course.config = {.layers = 2, .heads = 3, .width = 12, .hidden = 10, .vocabulary = 11, .context = 5};
  course.dp = Runtime::size() / course.pp;
  course.device = device;
  return course;
}

}  // namespace

std::string UpdatingTrial::name() const { return schedule + (zero ? " zero=" + std::to_string(*zero) : ""); }

TrainingRun trained(const UpdatingTrial& trial, at::Device device, const AroundStep& around) {
  const PlacedCourse course = course_on(device);
  const Schedule table = make_schedule(trial.schedule, {.stages = course.pp, .micro_batches = 4});
  const Partition all = Partition::world(),
                  mesh = all.grid({{"pp", course.pp}, {"dp", course.dp}, {"tp", course.tp}});
  models::MinGpt model(stages_of(course, mesh, table.worker_of), course.config);
  const Pipeline pipeline(model, table);
  model.initialise(kPlacedSeed, course.type, device);
  TrainingRun run;
  for (const Parameter& p : model.parameters()) run.initial[p.name()] = known_to_all(all, p.get());
  std::deque<Zero> zeros;
  std::map<int, std::unique_ptr<Optimizer>> optimizers;
  for (int chunk = 0; chunk < table.chunks(); ++chunk) {
    const std::vector<Parameter> parameters = pipeline.parameters(chunk);
    if (trial.zero) zeros.emplace_back(parameters, ZeroOptions{.stage = *trial.zero});
    optimizers[chunk] = std::make_unique<AdamW>(trial.zero ? zeros.back().store() : whole(parameters),
                                                AdamWOptions{.learning_rate = 1e-2, .epsilon = 1e-3});
  }
  std::vector<LateNumbers> losses;
  for (int number = 0; number < trial.runs; ++number) {
    std::shared_ptr<void> holds = around ? around(number) : nullptr;
    losses.push_back(pipeline.train(
        [&](std::int64_t i) {
          return loss_of(course, model, number * table.micro_batches + static_cast<int>(i), 0);
        },
        [&](int chunk) {
          if (holds) holds = around(number);  // a step waits for what the one before has found
          optimizers.at(chunk)->step();
          optimizers.at(chunk)->zero_gradients();
        }));
  }
  settle_late_checks();
  for (std::size_t i = 0; i < losses.size(); ++i)
    run.results["losses of run " + std::to_string(i)] = at::tensor(losses[i].wait(), at::kDouble);
  for (const Parameter& p : model.parameters()) run.results[p.name()] = known_to_all(all, p.get());
  return run;
}

}  // namespace riesz::testing
