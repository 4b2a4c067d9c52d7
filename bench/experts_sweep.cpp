// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains experts at every combination of the settings below, and compares each training with plain LibTorch
// on one rank: losses, norms, every gradient, and every weight after the last step of AdamW. The tests run a
// few of them. It prints a line for each that fails, and a count.
//
//   blocks  two blocks of experts on every grid of dp, ep, sp, tp and of dp, xp, sp, st (expert_training.h),
//           with numbers of experts and choices, gates, ZeRO, recompute, micro-batches, ties, and a shared
//           expert. Weights as GPT-2's, transposed and with biases, are not among them.
//   models  Mixtral and Qwen2-MoE on every grid of pp, dp, sp, ep and tp, with streams, ZeRO, recompute,
//           schedules, both kinds of layout.experts, and micro-batches. gpt2_moe is not among them.
//
//   mpirun -n RANKS experts_sweep blocks|models [--steps 5] [--from 0] [--stride 1] [--seconds 540]
// It ends when the time is over, and prints the --from that goes on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "expert_training.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/all_ranks.h"
#include "riesz/testing/pairs.h"
#include "routed.h"

namespace riesz::testing {
namespace {

struct Options {
  std::string what = "blocks";
  int steps = 5;
  std::size_t from = 0;
  std::size_t stride = 1;
  double seconds = 540;
};

/// One training, and what it must give.
struct Trial {
  std::string name;
  std::string reference;  ///< the name of what `plainly` gives, which others share
  std::function<TrainingRun()> run, plainly;
};

using Drops = GateOptions::Drop;
using Balance = GateOptions::Balance;

const std::vector<std::int64_t> kExperts = {1, 2, 3, 5, 9};
const std::vector<std::int64_t> kChoices = {1, 2, 0};  // 0: all experts
const std::vector<GateOptions> kGates = {
    {},
    {.renormalise = false, .balance = Balance::gshard, .balance_weight = 0.5, .z_weight = 0.1},
    {.score = GateOptions::Score::sigmoid, .balance = Balance::all_choices},
    {.drop = Drops::position, .capacity_factor = 1e-3, .least_capacity = 1},
    {.drop = Drops::probability, .capacity_factor = 0.5, .least_capacity = 1}};
const std::vector<int> kZero = {-1, 0, 1, 2, 3};

template <typename T>
int count(const std::vector<T>& values) {
  return static_cast<int>(values.size());
}

template <typename T>
const T& value(const std::vector<T>& values, const Choice& choice, std::size_t factor) {
  return values[static_cast<std::size_t>(choice[factor])];
}

std::optional<int> zero_of(const Choice& choice, std::size_t factor) {
  const int stage = value(kZero, choice, factor);
  return stage < 0 ? std::nullopt : std::optional<int>(stage);
}

/// Experts, choices, gate, ZeRO, recompute, micro-batches, ties, shared expert; without the grid.
ExpertCase block_case(const Choice& choice, int steps) {
  ExpertCase of;
  of.experts = value(kExperts, choice, 1);
  of.gate = value(kGates, choice, 3);
  of.gate.k = value(kChoices, choice, 2) == 0 ? of.experts : value(kChoices, choice, 2);
  of.zero = zero_of(choice, 4);
  of.recompute = choice[5] == 1;
  of.micro_batches = 1 + choice[6];
  of.ties = choice[7] == 1;
  // After a step the order of ties depends on rounding.
  of.steps = of.ties ? 1 : steps;
  if (of.ties) of.gate.renormalise = false;
  of.beside = choice[8] == 1;
  of.gated = choice[3] != 2;
  return of;
}

/// All of a kind, made one by one.
struct Trials {
  std::vector<Choice> choices;
  std::function<Trial(const Choice&)> make;
};

Trial block_trial(const Partition& mesh, const Choice& choice, int steps) {
  const ExpertCase of = block_case(choice, steps);
  std::string numbers;
  for (std::size_t factor = 1; factor < choice.size(); ++factor)
    numbers += (factor > 1 ? "." : "") + std::to_string(choice[factor]);
  ExpertCase alone = of;
  alone.zero = {}, alone.recompute = false;
  Choice shared = choice;
  shared[0] = shared[4] = shared[5] = 0;  // grid, ZeRO and recompute change nothing
  std::string reference;
  for (const int each : shared) reference += std::to_string(each) + ".";
  const auto plainly = [alone] {
    const Partition here = Partition::world().subset({Runtime::rank()});
    return train_expert_blocks_plainly(alone, train_expert_blocks(here.grid({{"dp", 1}, {"ep", 1}}), alone));
  };
  return {concat(to_string(mesh), ", ", of.experts, " experts, ", of.gate.k, " choices, case ", numbers),
          reference, [mesh, of] { return train_expert_blocks(mesh, of); }, plainly};
}

Trials block_trials(int steps) {
  std::vector<Partition> grids = grids_of_four({"dp", "ep", "sp", "tp"});
  for (Partition& each : grids_of_four({"dp", "xp", "sp", "st"})) grids.push_back(std::move(each));
  const auto fits = [](const Choice& choice) {
    return value(kChoices, choice, 2) <= value(kExperts, choice, 1);
  };
  const std::vector<int> counts{
      count(grids), count(kExperts), count(kChoices), count(kGates), count(kZero), 2, 2, 2, 2};
  return {all_choices(counts, fits), [grids, steps](const Choice& choice) {
            return block_trial(value(grids, choice, 0), choice, steps);
          }};
}

/// The ways to write n as a product of five numbers.
std::vector<std::vector<int>> five_factors(int n) {
  std::vector<std::vector<int>> all{{}};
  for (int factor = 0; factor < 5; ++factor) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& each : all) {
      int left = n;
      for (const int taken : each) left /= taken;
      for (int next = factor == 4 ? left : 1; next <= left; ++next) {
        if (left % next != 0) continue;
        longer.push_back(each);
        longer.back().push_back(next);
      }
    }
    all = std::move(longer);
  }
  return all;
}

struct OfModel {
  bool shared;
  std::int64_t experts, experts_per_token;
};
const std::vector<OfModel> kModels = {
    {false, 3, 2}, {false, 1, 1}, {false, 9, 3}, {true, 5, 3}, {true, 2, 2}};

struct Stream {
  bool sharded;
  Sequence sequence;
};
const std::vector<Stream> kStreams = {
    {false, Sequence::ring}, {true, Sequence::ring}, {false, Sequence::ulysses}, {true, Sequence::ulysses}};

/// Grid, model, stream, ZeRO, recompute, schedule, what ep is like, micro-batches.
RoutedCourse model_course(const std::vector<int>& grid, const Choice& choice, int steps) {
  const OfModel& of = value(kModels, choice, 1);
  RoutedCourse course{.shared = of.shared, .experts = of.experts, .experts_per_token = of.experts_per_token};
  course.pp = grid[0], course.dp = grid[1], course.sp = grid[2], course.ep = grid[3], course.tp = grid[4];
  course.layers = std::max(2, course.pp);
  course.sharded_stream = value(kStreams, choice, 2).sharded;
  course.sequence = value(kStreams, choice, 2).sequence;
  course.zero = zero_of(choice, 3);
  course.recompute = choice[4] == 1;
  course.schedule = choice[5] == 1 ? "one_f_one_b" : "gpipe";
  course.ep_like = choice[6] == 1 ? "tp" : "dp";
  course.micro_batches = choice[7] == 1 ? 3 : 1;
  course.steps = steps;
  return course;
}

Trials model_trials(int steps) {
  const std::vector<std::vector<int>> grids = five_factors(Runtime::size());
  const auto fits = [&](const Choice& choice) {  // each training once
    const RoutedCourse course = model_course(value(grids, choice, 0), choice, 1);
    return (course.sp > 1 || course.sequence == Sequence::ring) && (course.pp > 1 || choice[5] == 0) &&
           (course.ep > 1 || choice[6] == 0) && (course.tp > 1 || !course.sharded_stream);
  };
  return {all_choices({count(grids), count(kModels), count(kStreams), count(kZero), 2, 2, 2, 2}, fits),
          [grids, steps](const Choice& choice) -> Trial {
            const RoutedCourse course = model_course(value(grids, choice, 0), choice, steps);
            return {to_string(course), concat(course.layers, ".", choice[1], ".", course.micro_batches),
                    [course] { return train_routed(course); },
                    [course] { return train_routed_plainly(course); }};
          }};
}

/// A message where a training differs from its reference on this worker, else nothing.
std::string wrong_with(const Trial& trial, const TrainingRun& reference) {
  try {
    const auto same = compare_runs(trial.run(), reference);
    return same ? "" : same.message();
  } catch (const std::exception&) {
    std::printf("%s\n  throws on rank %d\n", trial.name.c_str(), Runtime::rank());
    std::fflush(stdout);
    throw;
  }
}

int all(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  RIESZ_CHECK(options.what == "blocks" || options.what == "models", "experts_sweep: blocks or models, not ",
              options.what);
  const Trials trials = options.what == "blocks" ? block_trials(options.steps) : model_trials(options.steps);
  std::map<std::string, TrainingRun> references;
  AllRanks ranks;
  std::size_t next = options.from;
  int done = 0, failed = 0;
  for (bool over = false; next < trials.choices.size() && !over; next += options.stride) {
    const Trial trial = trials.make(trials.choices[next]);
    if (!references.contains(trial.reference)) references[trial.reference] = trial.plainly();
    const std::string mine = wrong_with(trial, references.at(trial.reference));
    const bool late = Runtime::rank() == 0 && seconds() > options.seconds;
    std::string wrong;
    for (const std::string& text : ranks.gather((late ? "late" : "in time") + ("\n" + mine))) {
      const std::size_t line = text.find('\n');
      over = over || text.substr(0, line) == "late";
      if (wrong.empty()) wrong = text.substr(line + 1);
    }
    ++done;
    if (wrong.empty()) continue;
    ++failed;
    if (Runtime::rank() == 0) std::printf("%zu fails: %s\n%s\n", next, trial.name.c_str(), wrong.c_str());
  }
  if (Runtime::rank() == 0)
    std::printf("%s on %d ranks, %d steps: %d of %zu in %.0f s, %d failed; next is --from %zu\n",
                options.what.c_str(), Runtime::size(), options.steps, done, trials.choices.size(), seconds(),
                failed, next);
  return failed == 0 ? 0 : 1;
}

int read_and_run(int argc, char** argv) {
  Options options;
  CLI::App app("Experts in every way against one worker");
  app.add_option("what", options.what, "blocks or models");
  app.add_option("--steps", options.steps);
  app.add_option("--from", options.from);
  app.add_option("--stride", options.stride);
  app.add_option("--seconds", options.seconds);
  CLI11_PARSE(app, argc, argv);
  return all(options);
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::testing::read_and_run); }
