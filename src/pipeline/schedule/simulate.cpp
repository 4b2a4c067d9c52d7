// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/simulate.h"

#include <algorithm>
#include <limits>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/cells.h"
#include "riesz/pipeline/schedule/links.h"
#include "riesz/pipeline/schedule/verify.h"

namespace riesz {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

/// Plays a table's rows against each other.
class Play {
 public:
  Play(const Schedule& schedule, const std::function<double(const Action&)>& duration, double send)
      : schedule_(schedule),
        duration_(duration),
        send_(send),
        links_(schedule.chunks()),
        forward_end_(schedule.chunks(), schedule.micro_batches, kNotYet),
        gradient_end_(schedule.chunks(), schedule.micro_batches, kNotYet),
        next_(schedule.workers()),
        timeline_{std::vector<std::vector<Timed>>(schedule.workers())} {}

  Timeline timeline() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int worker = 0; worker < schedule_.workers(); ++worker) {
        while (do_next(worker)) moved = true;
      }
    }
    return std::move(timeline_);
  }

 private:
  bool do_next(int worker) {
    const std::vector<Action>& row = schedule_.rows[worker];
    std::vector<Timed>& done = timeline_.rows[worker];
    if (next_[worker] == row.size()) return false;
    const Action& action = row[next_[worker]];
    if (action.pass != Pass::idle) {
      const double start = std::max(done.empty() ? 0 : done.back().end, arrival(action, worker));
      if (start == kNotYet) return false;
      const double end = start + duration_(action);
      done.push_back({action, start, end});
      if (action.pass == Pass::forward) forward_end_.of(action) = end;
      if (gives_gradient(action)) gradient_end_.of(action) = end;
    }
    ++next_[worker];
    return true;
  }

  /// When all that the action needs from other chunks is on its worker.
  double arrival(const Action& action, int worker) const {
    const Cells<double>& ends = action.pass == Pass::forward ? forward_end_ : gradient_end_;
    double last = 0;
    for (const int source : links_.sources(action)) {
      const double travel = schedule_.worker_of[source] == worker ? 0 : send_;
      last = std::max(last, ends(source, action.micro_batch) + travel);
    }
    return last;
  }

  const Schedule& schedule_;
  const std::function<double(const Action&)>& duration_;
  double send_;
  Links links_;
  Cells<double> forward_end_;
  Cells<double> gradient_end_;
  std::vector<std::size_t> next_;
  Timeline timeline_;
};

double busy(const std::vector<Timed>& row) {
  double sum = 0;
  for (const Timed& timed : row) sum += timed.end - timed.start;
  return sum;
}

}  // namespace

double PassCosts::of(Pass pass) const {
  switch (pass) {
    case Pass::forward:
      return forward;
    case Pass::backward:
      return backward_inputs + backward_weights;
    case Pass::backward_inputs:
      return backward_inputs;
    case Pass::backward_weights:
      return backward_weights;
    case Pass::recompute:
      return recompute;
    case Pass::idle:
      break;
  }
  return 0;
}

double Costs::of(const Action& action) const {
  return chunks[chunks.size() == 1 ? 0 : action.chunk].of(action.pass);
}

void check_costs(const Costs& costs, int chunks) {
  RIESZ_CHECK(costs.chunks.size() == 1 || static_cast<int>(costs.chunks.size()) == chunks, "costs of ",
              costs.chunks.size(), " chunks for a table of ", chunks, "; give one for all or one for each");
  for (const PassCosts& chunk : costs.chunks) {
    const double least =
        std::min({chunk.forward, chunk.backward_inputs, chunk.backward_weights, chunk.recompute});
    RIESZ_CHECK(least >= 0 && costs.send >= 0, "a cost of ", std::min(least, costs.send),
                "; none may be below 0");
  }
}

Timeline simulate(const Schedule& schedule, const std::function<double(const Action&)>& duration,
                  double send) {
  verify(schedule);
  return Play(schedule, duration, send).timeline();
}

Timeline simulate(const Schedule& schedule, const Costs& costs) {
  check_costs(costs, schedule.chunks());
  return simulate(
      schedule, [&](const Action& action) { return costs.of(action); }, costs.send);
}

double span(const Timeline& timeline) {
  double first = kNotYet;
  double last = 0;
  for (const std::vector<Timed>& row : timeline.rows) {
    if (row.empty()) continue;
    first = std::min(first, row.front().start);
    last = std::max(last, row.back().end);
  }
  return std::max(last - first, 0.0);
}

double bubble(const Timeline& timeline) {
  double sum = 0;
  for (const std::vector<Timed>& row : timeline.rows) sum += busy(row);
  const double all = span(timeline) * static_cast<double>(timeline.rows.size());
  return all > 0 ? 1 - sum / all : 0;
}

std::vector<double> waiting(const Timeline& timeline) {
  std::vector<double> lost;
  for (const std::vector<Timed>& row : timeline.rows)
    lost.push_back(row.empty() ? 0 : row.back().end - row.front().start - busy(row));
  return lost;
}

}  // namespace riesz
