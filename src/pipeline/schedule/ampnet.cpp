// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "riesz/pipeline/schedule/list_schedule.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

/// The versions of weights, where every pass reads the newest ones. The last update takes what gradients are
/// left.
void read_newest(std::vector<Action>& row, int interval, int m) {
  int newest = 0, gradients = 0;
  for (Action& action : row) {
    if (action.pass == Pass::idle) continue;
    action.version = newest;
    if (action.pass != Pass::backward) continue;
    ++gradients;
    action.update = gradients % interval == 0 || gradients == m;
    newest += action.update;
  }
}

}  // namespace

Schedule ampnet(const ScheduleOptions& options) {
  check_options("ampnet", options, 1, {"update_interval", "in_flight"});
  const int p = options.stages;
  const int m = options.micro_batches;
  const int in_flight = options.in_flight > 0 ? options.in_flight : p;
  std::vector<Action> wanted;
  for (int i = 0; i < m; ++i) {
    for (int chunk = 0; chunk < p; ++chunk) {
      wanted.push_back({Pass::forward, chunk, i});
      wanted.push_back({Pass::backward, chunk, i});
    }
  }
  const auto rank = [](const Action& a) { return a.pass == Pass::backward ? 0 : 1; };
  const auto may_start = [&](const Action& a, int, int kept) {
    return a.pass == Pass::backward || a.chunk > 0 || kept < in_flight;
  };
  Schedule table = list_schedule(looped(p, 1), m, wanted, {rank, may_start}, options.costs);
  for (std::vector<Action>& row : table.rows)
    read_newest(row, options.update_interval > 0 ? options.update_interval : p, m);
  return table;
}

}  // namespace riesz::schedules
