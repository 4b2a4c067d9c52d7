// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>
#include <tuple>

#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/in_turns.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

std::vector<Action> after_recompute(const std::vector<Action>& backward) {
  std::vector<Action> row = {backward.back()};
  for (auto action = std::next(backward.rbegin()); action != backward.rend(); ++action) {
    row.push_back(as(Pass::recompute, *action));
    row.push_back(*action);
  }
  return row;
}

}  // namespace

Schedule gpipe(const ScheduleOptions& options) {
  check_options("gpipe", options, 1, {"recompute"});
  const auto& [p, m] = std::tie(options.stages, options.micro_batches);
  Schedule table{looped(p, 1), m, {}};
  for (int worker = 0; worker < p; ++worker) {
    std::vector<Action> row = each_micro_batch(Pass::forward, worker, m);
    std::vector<Action> backward = each_micro_batch(Pass::backward, worker, m);
    if (options.recompute) backward = after_recompute(backward);
    row.insert(row.end(), backward.begin(), backward.end());
    table.rows.push_back(row);
  }
  return aligned(table);
}

}  // namespace riesz::schedules
