// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/loop.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "riesz/comm/progress/background.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/trace/range.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::map<std::string, Traffic> difference(std::map<std::string, Traffic> after,
                                          const std::map<std::string, Traffic>& before) {
  for (const auto& [operation, traffic] : before) after[operation] = after[operation] - traffic;
  std::erase_if(after, [](const auto& entry) { return entry.second == Traffic{}; });
  return after;
}

bool on_any(const Partition& P, bool mine) {
  std::vector<std::string> axes;
  for (const Axis& axis : P.axes()) axes.push_back(axis.name);
  return any_flag(P, axes, mine);
}

/// A row whose numbers may still be computed.
struct Late {
  Row row;
  TrainingStep::Result result;

  Row known() const {
    Row all = row;
    all.loss = result.loss;
    all.gradient_norm = result.gradient_norm;
    all.skipped = result.skipped != 0;
    all.experts = GateReport::row_of(result.experts);
    return all;
  }
};

}  // namespace

Trained run_training(const Config::Train& config, TrainingStep& train_step, const Learner& model,
                     const Task& task, const OnStep& on_step, const Stop& stop, const TrainingProgress& made,
                     const std::function<bool(std::int64_t)>& at_once, Profile* profile) {
  const auto counted = static_cast<double>(config.batch * task.unit().each);
  Trained trained;
  const Clock::time_point start = Clock::now();
  const auto show = [&](const Row& row) {
    trained.rows.push_back(row);
    trained.rows.back().seconds = seconds_since(start);
    on_step(trained.rows.back());
  };
  std::optional<Late> late;
  const auto show_late = [&] {
    if (late) show(std::exchange(late, std::nullopt)->known());
  };
  const auto batch_of = [&](std::int64_t taken) {
    const Range range(RangeKind::phase, "data");
    return task.batch(taken, config.batch);
  };
  /// True if it was the last.
  const auto make_step = [&](std::int64_t step) {
    const std::string name = "step " + std::to_string(step + 1);
    const Range range(RangeKind::step, name);
    // What goes on behind the computing is counted when it has gone: between two ends of all that is under
    // way.
    const bool measured = step <= made.steps + 1;
    if (measured) finish_background();
    const std::map<std::string, Traffic> before = Counters::instance().by_operation();
    const Clock::time_point begin = Clock::now();
    StatusBoard::note(name);
    const std::int64_t taken = made.rows + (step - made.steps) * config.batch;
    const TrainingStep::Result result = train_step(step, batch_of(taken));
    show_late();
    Row row;
    row.step = step + 1;
    row.learning_rate = result.learning_rate;
    double took = seconds_since(begin);
    if (measured) {
      finish_background();
      trained.traffic = difference(Counters::instance().by_operation(), before);
    }
    const bool last = row.step == config.steps || (stop && on_any(model.workers, stop()));
    const bool evaluates = row.step % config.eval_every == 0 || last;
    const bool is_late = result.on_a_device() && !evaluates && !(at_once && at_once(row.step));
    if (!is_late) train_step.settle();
    if (!is_late && result.on_a_device()) took = seconds_since(begin);  // the device's time too
    trained.seconds += took;
    row.rate = counted / took;
    if (is_late) {
      late.emplace(Late{row, result});
      return last;
    }
    row = Late{row, result}.known();
    if (evaluates) {
      const Range evaluation(RangeKind::phase, "evaluation");
      trained.held_out = measure_held_out(model, task, config.eval_size, config.batch, train_step.pipeline(),
                                          std::max<std::int64_t>(1, config.micro_batches));
      row.held_out_loss = trained.held_out.loss;
      row.overlap = trained.held_out.overlap();
    }
    show(row);
    return last;
  };
  for (std::int64_t step = made.steps; step < config.steps; ++step) {
    if (profile != nullptr) profile->before(step + 1);
    const bool last = make_step(step);
    if (profile != nullptr) profile->after(step + 1);
    if (last) break;
  }
  if (profile != nullptr) profile->finish();
  return trained;
}

}  // namespace riesz
