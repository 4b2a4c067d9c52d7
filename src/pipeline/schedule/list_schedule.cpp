// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/list_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/cells.h"
#include "riesz/pipeline/schedule/links.h"

namespace riesz {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class ListScheduling {
 public:
  ListScheduling(const std::vector<int>& worker_of, int micro_batches, const std::vector<Action>& wanted,
                 const Preference& preference, const Costs& costs)
      : preference_(preference), costs_(costs), links_(static_cast<int>(worker_of.size())) {
    check_costs(costs, static_cast<int>(worker_of.size()));
    const int workers = 1 + *std::max_element(worker_of.begin(), worker_of.end());
    table_ = {worker_of, micro_batches, std::vector<std::vector<Action>>(workers)};
    wanted_.resize(workers);
    again_ = {static_cast<int>(worker_of.size()), micro_batches, 0};
    ends_.fill({static_cast<int>(worker_of.size()), micro_batches, kNever});
    for (const Action& action : wanted) {
      wanted_[worker_of[action.chunk]].push_back(action);
      if (action.pass == Pass::recompute) again_.of(action) = 1;
    }
    free_.resize(workers);
    forward_.resize(workers);
    kept_.resize(workers);
  }

  Schedule table() {
    moments_.insert(0);
    while (!moments_.empty()) {
      now_ = *moments_.begin();
      moments_.erase(moments_.begin());
      for (bool started = true; started;) {  // again, for what takes no time
        started = false;
        for (int worker = 0; worker < table_.workers(); ++worker) started |= start_next(worker);
      }
    }
    for (const std::vector<Action>& left : wanted_) {
      RIESZ_CHECK(left.empty(), "list_schedule: nothing may start any more, with ", to_string(left.front()),
                  " still wanted");
    }
    return by_slots_ ? std::move(table_) : aligned(std::move(table_));
  }

 private:
  /// Which of ends_ has the pass: a whole backward pass is one of inputs too.
  static std::size_t kind(Pass pass) {
    return static_cast<std::size_t>(pass == Pass::backward ? Pass::backward_inputs : pass);
  }

  bool start_next(int worker) {
    if (free_[worker] > now_) return false;
    std::vector<Action>& wanted = wanted_[worker];
    auto best = wanted.end();
    for (auto action = wanted.begin(); action != wanted.end(); ++action) {
      if (!preference_.may_start(*action, forward_[worker], kept_[worker]) || !ready(*action, worker))
        continue;
      if (best == wanted.end() || preference_.rank(*action) < preference_.rank(*best)) best = action;
    }
    if (best == wanted.end()) return false;
    start(*best, worker);
    wanted.erase(best);
    return true;
  }

  void start(const Action& action, int worker) {
    const double end = now_ + costs_.of(action);
    by_slots_ &= end - now_ == 1 && now_ == std::floor(now_);
    if (by_slots_) table_.rows[worker].resize(static_cast<std::size_t>(now_));
    table_.rows[worker].push_back(action);
    ends_[kind(action.pass)].of(action) = end;
    free_[worker] = end;
    if (end > now_) moments_.insert(end);
    if (costs_.send > 0) moments_.insert(end + costs_.send);
    forward_[worker] += action.pass == Pass::forward;
    kept_[worker] += (action.pass == Pass::forward) - ends_micro_batch(action);
  }

  bool ready(const Action& a, int worker) const {
    const auto there = [&](Pass pass, int chunk) {
      const double travel = table_.worker_of[chunk] == worker ? 0 : costs_.send;
      return ends_[kind(pass)](chunk, a.micro_batch) + travel <= now_;
    };
    const auto all_there = [&](const Action& needing) {
      const std::vector<int>& sources = links_.sources(needing);
      return std::all_of(sources.begin(), sources.end(),
                         [&](int chunk) { return there(needing.pass, chunk); });
    };
    switch (a.pass) {
      case Pass::forward:
        return all_there(a);
      case Pass::recompute:
        return there(Pass::forward, a.chunk) && all_there({Pass::backward, a.chunk, a.micro_batch});
      case Pass::backward:
      case Pass::backward_inputs: {
        const bool again = again_.of(a) != 0;
        return there(again ? Pass::recompute : Pass::forward, a.chunk) && all_there(a);
      }
      default:
        return there(Pass::backward_inputs, a.chunk);
    }
  }

  const Preference& preference_;
  const Costs& costs_;
  Links links_;
  Schedule table_;
  std::vector<std::vector<Action>> wanted_;  // of each worker, not yet started
  Cells<char> again_;                        // is it recomputed?
  std::array<Cells<double>, 6> ends_;        // of each kind of pass
  std::vector<double> free_;
  std::vector<int> forward_;
  std::vector<int> kept_;
  std::set<double> moments_;
  double now_ = 0;
  bool by_slots_ = true;
};

}  // namespace

Schedule list_schedule(const std::vector<int>& worker_of, int micro_batches,
                       const std::vector<Action>& wanted, const Preference& preference, const Costs& costs) {
  return ListScheduling(worker_of, micro_batches, wanted, preference, costs).table();
}

}  // namespace riesz
