// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "riesz/pipeline/schedule/list_schedule.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

/// The slots of a worker's four passes of micro-batch 0 in the building block: forward down and up the V, and
/// back. Those of micro-batch i are 6i slots later; weights fill the two free slots of six.
using Block = std::array<int, 4>;

/// The building blocks of the paper: their slots are different modulo 6 on every worker.
Block half_block(int r, int p) {
  const int gap = p % 2 == 0 ? 3 : 0;
  return {2 * r, 3 * p - r - 2, 3 * p + gap + 2 * r - 1, 6 * p + gap - r - 2};
}
Block min_block(int r, int p) {
  const int gap = p % 3 == 0 ? 2 : 0;
  return {r, 2 * p - r - 1, 2 * p + gap + r, 4 * p + gap - r - 1};
}

/// The worker's passes but those of weights, in the order of the repeated block, each with its slot there.
std::vector<std::pair<int, Action>> repeated(const Block& block, int r, int p, int m) {
  const int down = r, up = 2 * p - 1 - r;
  const std::array<Action, 4> passes = {{{Pass::forward, down},
                                         {Pass::forward, up},
                                         {Pass::backward_inputs, up},
                                         {Pass::backward_inputs, down}}};
  std::vector<std::pair<int, Action>> all;
  for (int i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < passes.size(); ++k)
      all.emplace_back(block[k] + 6 * i, Action{passes[k].pass, passes[k].chunk, i});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

/// The most that a worker keeps where weights fill the free slots of its repeated block.
int kept_by(const std::vector<std::pair<int, Action>>& passes) {
  int kept = 0, most = 0, owed = 0, slot = 0;
  for (const auto& [at, action] : passes) {
    for (; slot < at; ++slot) {
      if (owed > 0) --owed, --kept;
    }
    ++slot;
    if (action.pass == Pass::forward) most = std::max(most, ++kept);
    if (action.pass == Pass::backward_inputs) ++owed;
  }
  return most;
}

/// The table that keeps the block's order of forward passes and its memory, and lets everything else go as
/// soon as it can: backward passes of inputs first, then forward passes, then weights.
Schedule squeezed(const ScheduleOptions& options, Block (*block)(int, int)) {
  const int p = options.stages;
  const int m = options.micro_batches;
  std::vector<Action> wanted;
  std::map<std::tuple<Pass, int, int>, int> slot, turn;
  int limit = 0;
  for (int r = 0; r < p; ++r) {
    const auto passes = repeated(block(r, p), r, p, m);
    int forward = 0;
    for (const auto& [at, action] : passes) {
      wanted.push_back(action);
      slot[{action.pass, action.chunk, action.micro_batch}] = at;
      if (action.pass == Pass::forward) turn[{action.pass, action.chunk, action.micro_batch}] = forward++;
      if (action.pass == Pass::backward_inputs)
        wanted.push_back({Pass::backward_weights, action.chunk, action.micro_batch});
    }
    limit = std::max(limit, kept_by(passes));
  }
  const int last = 6 * (p + m) + 6;
  const auto rank = [&](const Action& a) {
    return a.pass == Pass::backward_weights ? last : slot.at({a.pass, a.chunk, a.micro_batch});
  };
  const auto may_start = [&](const Action& a, int forward, int kept) {
    return a.pass != Pass::forward || (kept < limit && turn.at({a.pass, a.chunk, a.micro_batch}) == forward);
  };
  return list_schedule(v_shaped(p), m, wanted, {rank, may_start}, options.costs);
}

}  // namespace

Schedule v_half(const ScheduleOptions& options) {
  check_options("v_half", options, 2);
  return squeezed(options, half_block);
}

Schedule v_min(const ScheduleOptions& options) {
  check_options("v_min", options, 2);
  return squeezed(options, min_block);
}

}  // namespace riesz::schedules
