// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/session.h"

#include <cstdio>
#include <iostream>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/comm/failure_note.h"
#include "riesz/comm/trace/nvtx_ranges.h"
#include "riesz/comm/trace/range.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/loop/checkpoints.h"
#include "riesz/train/loop/ignored_signals.h"
#include "riesz/train/loop/profile.h"
#include "riesz/train/loop/skipped_steps.h"
#include "riesz/train/loop/stop_signals.h"
#include "riesz/train/report/disk_report.h"
#include "riesz/train/report/results.h"
#include "riesz/train/report/summary.h"
#include "riesz/train/report/trace.h"

namespace riesz {
namespace {

std::string introduction(const Config& config, const Learner& model, const Task& task,
                         const std::vector<RankMemory>& memory) {
  return concat(model.module.describe(), "\n", task.describe(), "\n", config.train.steps, " steps on ",
                to_string(model.workers), "\n", model.module.placement(), "each rank will hold\n",
                memory_table(memory, false));
}

/// Of the optimizer's state, of the rank that has most.
std::int64_t most_elsewhere(const std::vector<RankMemory>& ranks) {
  std::int64_t most = 0;
  for (const RankMemory& rank : ranks) most = std::max(most, rank.state.optimizer_elsewhere);
  return most;
}

/// Of the last step.
void trace(const Config& config, const TrainingStep& step, const Partition& job,
           std::optional<Results>& results) {
  const Timeline timeline = collect_timeline(job, step.timeline());
  if (!results) return;
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "span %.3g ms, bubble %.1f %%", 1e3 * span(timeline),
                100 * bubble(timeline));
  const std::string title =
      concat("the last step by ", config.pipeline.schedule, " on ", to_string(job), ": ", numbers);
  write_timeline(config.pipeline.trace, timeline, title);
  results->say(concat(title, ", in ", escaped(config.pipeline.trace), "/timeline.svg and timeline.json"));
}

/// What the checkpoint says, and the rows that are there already.
std::vector<Row> resumed(const Beginning& beginning, Results& results) {
  if (beginning.folder.empty()) return {};
  results.say(concat("goes on after step ", beginning.step, ", from ", in_quotes(beginning.folder.string())));
  for (const std::string& note : beginning.notes) results.say("since then: " + escaped(note));
  return results.resume(beginning.step);
}

}  // namespace

void run_session(const Config& config, const Learner& model, const Task& task, const OnStep& also) {
  const StopSignals signals;
  const IgnoredSignals ignored;
  const Partition& mesh = model.workers;
  const bool first = mesh.rank() == 0;
  saved_config(config);  // refuses what could not be read back, before anything is made
  std::optional<NvtxRanges> ranges;
  if (config.train.nvtx) ranges.emplace();
  if (first && config.resume) check_can_resume(config);
  if (first) check_folder_can_be_written(config.output.folder);
  if (first && !config.pipeline.trace.empty()) check_folder_can_be_written(config.pipeline.trace);
  check_alike(mesh, "the configuration", digest(to_toml(config)));
  check_alike(mesh, "the data", task.digest());
  std::ostream nowhere(nullptr);
  std::ostream& notes = config.quiet ? nowhere : std::clog;
  std::optional<Results> results;
  if (first) results.emplace(config, task.unit(), std::cout, notes);

  const std::vector<DiskSpeed> disks = measure_disks(mesh, config);
  TrainingStep step(config, model);
  const std::vector<RankMemory> will_hold = collect_memory(mesh, step.memory());
  Checkpoints checkpoints(config, model, task, step);  // refuses before anything is shown
  if (first) notes << introduction(config, model, task, will_hold) << std::flush;
  if (first && !step.state_place().empty())
    notes << "the optimizer's state lies on " << step.state_place() << "\n" << std::flush;
  if (first && !step.activation_place().empty())
    notes << "what blocks save for backward lies on " << step.activation_place() << "\n" << std::flush;
  if (first && !disks.empty())
    notes << disk_report(config, disks, config.offload.state == "disk" ? most_elsewhere(will_hold) : 0)
          << std::flush;
  if (results && !checkpoints.moved().empty()) results->say(checkpoints.moved());
  const Beginning beginning = checkpoints.begin();
  set_failure_note(checkpoints.what_resume_takes());
  std::vector<Row> rows;
  if (results) rows = resumed(beginning, *results);
  const double before = rows.empty() ? 0 : rows.back().seconds;
  const auto say = [&](const std::string& text) {
    if (results && !text.empty()) results->say(text);
  };
  SkippedSteps skipped;
  const auto on_step = [&](const Row& row) {
    rows.push_back(row);
    rows.back().seconds += before;
    if (results) results->step(rows.back());
    if (also) also(row);
    say(skipped.after(row));
    const Range range(RangeKind::phase, "checkpoint");
    say(checkpoints.after(row.step, false, row.held_out_loss));
  };
  Profile profile(config, mesh);
  const Trained trained = [&] {
    try {
      return run_training(
          config.train, step, model, task, on_step, StopSignals::came, {beginning.step, beginning.rows},
          [&](std::int64_t made) { return checkpoints.due(made); }, &profile);
    } catch (...) {
      say(checkpoints.finish());
      say(checkpoints.last());
      throw;
    }
  }();
  say(skipped.at_end());
  const std::int64_t steps = rows.back().step;
  say(checkpoints.after(steps, true));
  if (results && steps < config.train.steps)
    results->say(concat("stopped by a signal after step ", steps, " of ", config.train.steps));
  const Predict trained_model = [&](const Rows& inputs) {
    return predict(model, inputs, step.pipeline(), micro_batches_of(config));
  };
  const std::vector<std::string> lines = task.report(trained_model, trained.held_out);
  at::Tensor picture;
  if (config.output.pictures > 0) picture = task.picture(trained_model, config.output.pictures);
  const std::string text = summary(config, model, task, trained, collect_traffic(mesh, trained.traffic),
                                   collect_memory(mesh, step.memory())) +
                           profile.report();
  if (!config.pipeline.trace.empty()) trace(config, step, mesh, results);
  if (results) results->finish(rows, lines, text, picture);
  checkpoints.check_saved(steps);
  if (results) results->conclude(checkpoints.what_resume_takes()());
  set_failure_note({});
}

}  // namespace riesz
