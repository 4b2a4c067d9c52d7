// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One training step of a GPT in fp32 on a pipeline, a stage (or --chunks stages) a worker, which measured
// time has made even. Prints "tokens/s N" of the median step, of the slowest worker, as gpt_step does; and,
// with
// --rounds, what forward and backward of all micro-batches take beside what `simulate` says of the schedule
// with the chunks' own times: those are measured in each round anew, on all workers at the same time, as if
// all messages arrived at once.
#include <ATen/Context.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chunk_times.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/pairing.h"
#include "riesz/pipeline/partitioner/measured.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string schedule = "gpipe";
  int micro_batches = 4;
  int chunks = 0;
  std::vector<int> blocks;  // of each chunk
  int steps = 20;
  int rounds = 0;
  bool losses = false;
  bool onednn = true;
  std::int64_t batch = 8;
  models::MinGptConfig model{
      .layers = 4, .heads = 4, .width = 128, .vocabulary = 256, .context = 128, .dropout = 0};
};

/// Token ids and targets, by micro-batch.
struct Data {
  std::vector<at::Tensor> ids, targets;
};

Data draw(const Options& options) {
  const auto draws = [&] {
    return at::randint(options.model.vocabulary, {options.batch, options.model.context}, at::kLong)
        .chunk(options.micro_batches);
  };
  Data data;
  data.ids = draws();
  data.targets = draws();
  return data;
}

/// Of a micro-batch, as its share of the mean over all.
Vector loss_of(models::MinGpt& model, const at::Tensor& ids, const at::Tensor& targets, double share) {
  const Vector x = distribute(model.tokens().with_shape(ids.sizes().vec()), ids);
  const Vector y = distribute(model.targets().with_shape(targets.sizes().vec()), targets);
  return share * cross_entropy(model(x), y).mean();
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void meet() { collect("meet", Partition::world(), at::scalar_tensor(0)); }

/// Element by element.
std::vector<double> largest(const std::vector<double>& numbers) {
  std::vector<double> most = numbers;
  for (const at::Tensor& each :
       collect("measured", Partition::world(), at::tensor(numbers, at::dtype(at::kDouble)))) {
    for (std::size_t i = 0; i < most.size(); ++i)
      most[i] = std::max(most[i], each.const_data_ptr<double>()[i]);
  }
  return most;
}

void set_initial(models::MinGpt& model) { model.initialise(1, at::kFloat); }

void zero_gradients(const Module& model) {
  for (Parameter parameter : model.parameters()) parameter.zero_gradient();
}

CostTree* part_of(CostTree& tree, const std::string& path) {
  if (tree.path == path) return &tree;
  for (CostTree& child : tree.children)
    if (CostTree* found = part_of(child, path)) return found;
  return nullptr;
}

/// In stages of even time, measured of the whole model on each worker; the loss is computed with the head.
ModuleStages stages_by_time(const Options& options, const Data& data, int chunks) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  models::MinGpt model(spaces::one_d(alone), options.model);
  set_initial(model);
  std::vector<double> whole;
  const auto micro_batch = [&] {
    const auto begin = Clock::now();
    Chain chain;
    backward(loss_of(model, data.ids[0], data.targets[0], 1));
    whole.push_back(seconds_since(begin));
  };
  CostTree tree = measured(model, micro_batch, Partition::world(), {.warm_up = 2, .repeats = 5});
  const double rest = largest({median(whole)})[0] - total(tree).time;
  part_of(tree, "lm_head")->own.time += std::max(rest, 0.0);
  const StagePlan plan = partition_by("time", tree, chunks);
  if (Runtime::rank() == 0) std::fprintf(stderr, "%s", to_string(plan).c_str());
  return plan.placement;
}

/// In stages of so many blocks each, as `gpt_pipelining.py --blocks`.
ModuleStages stages_of_blocks(const std::vector<int>& blocks) {
  const int last = static_cast<int>(blocks.size()) - 1;
  ModuleStages stage_of{{"transformer.ln_f", last}, {"lm_head", last}};
  int block = 0;
  for (int stage = 0; stage <= last; ++stage) {
    for (int i = 0; i < blocks[static_cast<std::size_t>(stage)]; ++i)
      stage_of["transformer.h." + std::to_string(block++)] = stage;
  }
  return stage_of;
}

Layout layout_of(const Schedule& schedule, const ModuleStages& stage_of) {
  const Partition grid = Partition::world().grid({{"pp", schedule.workers()}, {"dp", 1}, {"tp", 1}});
  std::vector<Layout> layouts;
  for (const int worker : schedule.worker_of) layouts.push_back(spaces::one_d(grid.at("pp", worker)));
  return spaces::placed(layouts, stage_of);
}

bool weights_apart(const Schedule& schedule) {
  for (const Action& action : schedule.rows[0])
    if (action.pass == Pass::backward_weights) return true;
  return false;
}

/// What chunks take by themselves: by repetition, chunk and micro-batch, forward, backward and weights.
std::vector<std::vector<double>> times_alone(const Options& options, const Data& data,
                                             const Schedule& schedule, const ModuleStages& stage_of) {
  const Simulation alone(Runtime::rank(), Runtime::size());
  models::MinGpt model(layout_of(schedule, stage_of), options.model);
  set_initial(model);
  std::vector<std::vector<double>> all;
  for (int repetition = 0; repetition < 5; ++repetition) {
    std::vector<double> times;
    for (std::size_t i = 0; i < data.ids.size(); ++i) {
      Chain chain;
      ChunkTimes of_chunks(schedule.chunks(), weights_apart(schedule));
      const Vector loss = loss_of(model, data.ids[i], data.targets[i], 1.0 / options.micro_batches);
      of_chunks.end_forward();
      backward(loss);
      of_chunks.weights();
      for (const ChunkSeconds& each : of_chunks.seconds())
        times.insert(times.end(), {each.forward, each.backward, each.weights});
    }
    zero_gradients(model);
    if (repetition > 0) all.push_back(times);
  }
  return all;
}

/// Of several measurements: the middle, and the least, which others on the machine have disturbed least.
struct Seconds {
  double middle = 0;
  double least = 0;
};

Seconds seconds_of(const std::vector<double>& each) {
  return {median(each), *std::min_element(each.begin(), each.end())};
}

/// The span of the schedule where an action takes `of` of what its chunk and micro-batch took alone.
double simulated_span(const Schedule& schedule, const std::vector<std::vector<double>>& all,
                      double Seconds::*of) {
  std::vector<double> times;
  for (std::size_t k = 0; k < all[0].size(); ++k) {
    std::vector<double> each;
    for (const auto& repetition : all) each.push_back(repetition[k]);
    times.push_back(seconds_of(each).*of);
  }
  times = largest(times);  // of who has the chunk: it is 0 elsewhere
  const auto duration = [&](const Action& action) {
    const int chunk = action.micro_batch * schedule.chunks() + action.chunk;
    const double* passes = &times[3 * static_cast<std::size_t>(chunk)];
    switch (action.pass) {
      case Pass::forward:
        return passes[0];
      case Pass::backward:
      case Pass::backward_inputs:
        return passes[1];
      case Pass::backward_weights:
        return passes[2];
      default:
        return 0.0;
    }
  };
  return span(simulate(schedule, duration, 0));
}

/// Of a step of the schedule, if each chunk takes what it takes alone and messages take no time.
Seconds simulated_seconds(const Options& options, const Data& data, const Schedule& schedule,
                          const ModuleStages& stage_of) {
  meet();
  const auto all = times_alone(options, data, schedule, stage_of);
  return {simulated_span(schedule, all, &Seconds::middle), simulated_span(schedule, all, &Seconds::least)};
}

/// A model on a pipeline.
struct Staged {
  Staged(const Options& of_run, const Data& its_data, const Schedule& schedule, const ModuleStages& stage_of)
      : options(of_run),
        data(its_data),
        model(layout_of(schedule, stage_of), options.model),
        pipeline(model, schedule) {
    set_initial(model);
  }

  /// Forward and backward of all micro-batches: the loss.
  double train() {
    double sum = 0;
    for (const double each : pipeline.train([&](std::int64_t i) {
           const auto k = static_cast<std::size_t>(i);
           return loss_of(model, data.ids[k], data.targets[k], 1.0 / options.micro_batches);
         }))
      sum += each;
    return sum;
  }

  const Options& options;
  const Data& data;
  models::MinGpt model;
  Pipeline pipeline;
};

/// Of forward and backward, which all workers begin at one time, until the last has ended.
Seconds train_seconds(Staged& staged) {
  std::vector<double> each;
  for (int i = 0; i < staged.options.steps + 1; ++i) {
    meet();
    const auto begin = Clock::now();
    staged.train();
    each.push_back(seconds_since(begin));
    zero_gradients(staged.model);
  }
  each.erase(each.begin());
  return seconds_of(largest(each));
}

void compare_with_simulated(const Options& options, const Data& data, const Schedule& schedule,
                            const ModuleStages& stage_of) {
  Staged staged(options, data, schedule, stage_of);
  std::vector<double> ratios, seconds, simulated;
  double least = std::numeric_limits<double>::infinity(), least_simulated = least;
  for (int round = 0; round < options.rounds; ++round) {
    const Seconds alone = simulated_seconds(options, data, schedule, stage_of);
    const Seconds piped = train_seconds(staged);
    simulated.push_back(alone.middle);
    seconds.push_back(piped.middle);
    ratios.push_back(piped.middle / alone.middle);
    least = std::min(least, piped.least);
    least_simulated = std::min(least_simulated, alone.least);
  }
  std::sort(ratios.begin(), ratios.end());
  if (Runtime::rank() == 0)
    std::printf(
        "forward and backward %.2f ms, simulated %.2f: %.3f (%.3f to %.3f), %d rounds; at least %.2f, "
        "simulated %.2f: %.3f\n",
        1e3 * median(seconds), 1e3 * median(simulated), median(ratios), ratios.front(), ratios.back(),
        options.rounds, 1e3 * least, 1e3 * least_simulated, least / least_simulated);
}

/// Of whole steps, with the optimizer's.
void print_rate(const Options& options, const Data& data, const Schedule& schedule,
                const ModuleStages& stage_of) {
  Staged staged(options, data, schedule, stage_of);
  AdamW optimizer(staged.model.parameters());
  std::vector<double> each;
  for (int i = 0; i < options.steps + 3; ++i) {
    const auto begin = Clock::now();
    const double loss = staged.train();
    optimizer.step();
    optimizer.zero_gradients();
    if (i >= 3) each.push_back(seconds_since(begin));
    if (options.losses && Runtime::rank() == 0) std::printf("loss %.7f\n", loss);
  }
  const double seconds = largest({median(each)})[0];
  if (Runtime::rank() == 0)
    std::printf("tokens/s %.1f\n", static_cast<double>(options.batch * options.model.context) / seconds);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of a GPT on a pipeline, in tokens per second");
  app.add_option("--schedule", options.schedule, "as riesz schedule names them");
  app.add_option("--micro-batches", options.micro_batches);
  app.add_option("--chunks", options.chunks, "of each worker; 0: as the schedule has it");
  app.add_option("--blocks", options.blocks, "of each chunk; by measured time unless given");
  app.add_option("--steps", options.steps, "steps that count, after three that do not");
  app.add_option("--rounds", options.rounds, "how often to compare with what is simulated");
  app.add_option("--batch", options.batch, "sequences, in all micro-batches");
  app.add_flag("!--mm", options.onednn,
               "products by at::mm alone, as torch has them, not by oneDNN where it is faster");
  app.add_option("--layers", options.model.layers);
  app.add_option("--heads", options.model.heads);
  app.add_option("--width", options.model.width);
  app.add_option("--vocabulary", options.model.vocabulary);
  app.add_option("--context", options.model.context);
  app.add_flag("--losses", options.losses, "print the loss of every step");
  CLI11_PARSE(app, argc, argv);
  at::globalContext().setUserEnabledMkldnn(options.onednn);
  at::manual_seed(1);  // the same tokens on all workers
  const Data data = draw(options);
  const Schedule schedule = make_schedule(
      options.schedule,
      {.stages = Runtime::size(), .micro_batches = options.micro_batches, .chunks = options.chunks});
  const ModuleStages stage_of = options.blocks.empty() ? stages_by_time(options, data, schedule.chunks())
                                                       : stages_of_blocks(options.blocks);
  if (options.rounds > 0) compare_with_simulated(options, data, schedule, stage_of);
  print_rate(options, data, schedule, stage_of);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
