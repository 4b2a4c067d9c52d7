// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Pipelines without computing: stages that sleep instead, so more of them than cores can be measured. For
// each schedule the share of the workers' time in which they did not sleep, beside what `simulate` gives;
// with passes of 0 ms, what an action takes by itself: a stage then does one multiplication of one number.
//   sleeping_stages --schedule gpipe zb_v --forward 20 --inputs 20 --weights 20
//   sleeping_stages --schedule one_f_one_b --micro-batches 500 --forward 0 --inputs 0 --weights 0
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/partition/pairing.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> schedules = {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v"};
  int micro_batches = 0;
  int chunks = 0;
  int steps = 3;
  PassCosts milliseconds{.forward = 20, .backward_inputs = 20, .backward_weights = 20};

  bool sleeps() const {
    return milliseconds.forward + milliseconds.backward_inputs + milliseconds.backward_weights > 0;
  }
};

/// When this worker slept.
class Sleep {
 public:
  explicit Sleep(const PassCosts& milliseconds) : milliseconds_(milliseconds) {}

  void during(Pass pass) {
    const double begin = seconds();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds_.of(pass)));
    spans_.insert(spans_.end(), {begin, seconds()});
  }
  bool is_none() const { return milliseconds_.of(Pass::forward) + milliseconds_.of(Pass::backward) == 0; }
  /// Beginnings and ends, one after another.
  std::vector<double> taken() { return std::exchange(spans_, {}); }

 private:
  static double seconds() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();  // of all processes
  }

  PassCosts milliseconds_;
  std::vector<double> spans_;
};

/// A number → half of it.
class Stage : public Layer<Stage> {
 public:
  Stage(OwnerAndName place, Sleep* sleep) : Layer(std::move(place)), sleep_(*sleep) {}

  Vector forward(const Vector& x) {
    if (!sleep_.is_none() && spaces().mesh().active()) pass();
    return 0.5 * x;
  }
  std::string describe() const override { return "sleeping stage"; }

 private:
  void pass() {
    sleep_.during(Pass::forward);
    const auto weights = DeferredGradients::current();
    Chain::current()->on_backward([this, weights] {
      if (weights == nullptr) return sleep_.during(Pass::backward);
      sleep_.during(Pass::backward_inputs);
      DeferredGradients::after_these(weights, [this] { sleep_.during(Pass::backward_weights); });
    });
  }

  Sleep& sleep_;
};

class Model : public Layer<Model> {
 public:
  Model(const Stages& stages, Sleep& sleep) : Layer("", stages), stages_(*this, "h", stages.size(), &sleep) {}
  Vector forward(const Vector& x) { return stages_(x); }
  std::string describe() const override { return "sleeping stages"; }

 private:
  Repeated<Stage> stages_;
};

Stages stages_of(const Schedule& schedule) {
  const Partition grid = Partition::world().grid({{"pp", schedule.workers()}, {"dp", 1}});
  std::vector<Layout> layouts;
  std::map<std::string, int> stage_of;
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
    layouts.push_back(spaces::one_d(grid.at("pp", schedule.worker_of[static_cast<std::size_t>(chunk)])));
    stage_of["h." + std::to_string(chunk)] = chunk;
  }
  return {layouts, Roles{{'b', {Role::batch}}}, stage_of};
}

Vector number_on(const Partition& home) {
  const at::Tensor local = home.active() ? at::full({}, 1.0, at::kDouble) : at::empty({0}, at::kDouble);
  return {Space(home, {}), local.requires_grad_()};
}

void meet() { collect("meet", Partition::world(), at::scalar_tensor(0)); }

/// Of all workers, from what each has kept.
Timeline timeline_of(const std::vector<double>& spans) {
  const at::Tensor mine = at::empty({static_cast<std::int64_t>(spans.size())}, at::kDouble);
  std::copy(spans.begin(), spans.end(), mine.mutable_data_ptr<double>());
  Timeline timeline;
  for (const at::Tensor& each : collect("sleeps", Partition::world(), mine)) {
    const auto* data = each.const_data_ptr<double>();
    timeline.rows.emplace_back();
    for (std::int64_t i = 0; i < each.numel(); i += 2)
      timeline.rows.back().push_back({{}, data[i], data[i + 1]});
  }
  return timeline;
}

double largest(double number) {
  double most = number;
  for (const at::Tensor& each :
       collect("measured", Partition::world(), at::scalar_tensor(number, at::kDouble)))
    most = std::max(most, each.item<double>());
  return most;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Options& options, const std::string& name) {
  const int p = Runtime::size();
  const int m = options.micro_batches > 0 ? options.micro_batches : 2 * p;
  const Schedule schedule = make_schedule(name, {.stages = p, .micro_batches = m, .chunks = options.chunks});
  Sleep sleep(options.milliseconds);
  const Stages stages = stages_of(schedule);
  Model model(stages, sleep);
  const Pipeline pipeline(model, schedule);
  const Vector x = number_on(stages.spaces(0).mesh());
  std::vector<double> bubbles, seconds;
  for (int step = 0; step < options.steps; ++step) {
    meet();
    const auto begin = Clock::now();
    pipeline.train([&](std::int64_t) { return model(x); });
    seconds.push_back(largest(std::chrono::duration<double>(Clock::now() - begin).count()));
    if (options.sleeps()) bubbles.push_back(bubble(timeline_of(sleep.taken())));
  }
  const std::vector<Action>& row = schedule.rows[static_cast<std::size_t>(Runtime::rank())];
  const auto actions =
      std::count_if(row.begin(), row.end(), [](const Action& action) { return action.pass != Pass::idle; });
  if (Runtime::rank() != 0) return;
  const double table = bubble(simulate(schedule, {.chunks = {options.milliseconds}}));
  const std::string what =
      name + ", " + std::to_string(p) + " workers, " + std::to_string(m) + " micro-batches";
  if (options.sleeps())
    std::printf("%s: bubble %.2f %%, the table's %.2f %%\n", what.c_str(), 100 * median(bubbles),
                100 * table);
  else
    std::printf("%s: %.1f us an action, at least %.1f\n", what.c_str(),
                1e6 * median(seconds) / static_cast<double>(actions),
                1e6 * *std::min_element(seconds.begin(), seconds.end()) / static_cast<double>(actions));
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Pipelines of stages that sleep instead of computing");
  app.add_option("--schedule", options.schedules);
  app.add_option("--micro-batches", options.micro_batches, "0: twice the workers");
  app.add_option("--chunks", options.chunks);
  app.add_option("--steps", options.steps);
  app.add_option("--forward", options.milliseconds.forward, "milliseconds of a pass");
  app.add_option("--inputs", options.milliseconds.backward_inputs);
  app.add_option("--weights", options.milliseconds.backward_weights);
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : options.schedules) measure(options, name);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
