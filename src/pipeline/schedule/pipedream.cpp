// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {

Schedule pipedream(const ScheduleOptions& options) {
  check_options("pipedream", options, 1);
  Schedule table = one_f_one_b({.stages = options.stages, .micro_batches = options.micro_batches});
  for (std::vector<Action>& row : table.rows) {
    std::vector<int> stashed(options.micro_batches);
    int newest = 0;
    for (Action& action : row) {
      if (action.pass == Pass::forward) action.version = stashed[action.micro_batch] = newest;
      if (action.pass == Pass::backward) {
        action.version = stashed[action.micro_batch];
        action.update = true;
        ++newest;
      }
    }
  }
  return table;
}

Schedule two_bw(const ScheduleOptions& options) {
  check_options("two_bw", options, 1, {"update_interval"});
  const int m = options.micro_batches;
  const int interval = options.update_interval > 0 ? options.update_interval : options.stages;
  RIESZ_CHECK(interval >= options.stages, "two_bw: an update after ", interval, " micro-batches on ",
              options.stages, " workers: two versions of weights are enough from ", options.stages,
              " micro-batches on");
  RIESZ_CHECK(m % interval == 0, "two_bw: ", m, " micro-batches with an update after every ", interval,
              ": take a multiple, such as ", (m / interval + 1) * interval);
  Schedule table = one_f_one_b({.stages = options.stages, .micro_batches = m});
  for (std::vector<Action>& row : table.rows) {
    for (Action& action : row) {
      if (action.pass == Pass::idle) continue;
      action.version = std::max(action.micro_batch / interval - 1, 0);
      action.update = action.pass == Pass::backward && (action.micro_batch + 1) % interval == 0;
    }
  }
  return table;
}

}  // namespace riesz::schedules
