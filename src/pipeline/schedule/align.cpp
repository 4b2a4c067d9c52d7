// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/align.h"

#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

Schedule aligned(Schedule schedule) {
  const Timeline timeline = simulate(
      schedule, [](const Action&) { return 1.0; }, 0);
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    std::vector<Action>& row = schedule.rows[worker];
    row.clear();
    for (const Timed& timed : timeline.rows[worker]) {
      row.resize(static_cast<std::size_t>(timed.start));
      row.push_back(timed.action);
    }
  }
  return schedule;
}

}  // namespace riesz
