// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <vector>

#include "riesz/pipeline/schedule/cells.h"
#include "riesz/pipeline/schedule/in_turns.h"
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

/// An action, and its slot where the block is repeated.
struct InBlock {
  int slot;
  Action action;
};

/// The worker's passes but those of weights, in the order of the repeated block.
std::vector<InBlock> repeated(const Block& block, int r, int p, int m) {
  const int down = r, up = 2 * p - 1 - r;
  std::vector<InBlock> all;
  for (int i = 0; i < m; ++i) {
    all.push_back({block[0] + 6 * i, {Pass::forward, down, i}});
    all.push_back({block[1] + 6 * i, {Pass::forward, up, i}});
    all.push_back({block[2] + 6 * i, {Pass::backward_inputs, up, i}});
    all.push_back({block[3] + 6 * i, {Pass::backward_inputs, down, i}});
  }
  std::sort(all.begin(), all.end(), [](const InBlock& a, const InBlock& b) { return a.slot < b.slot; });
  return all;
}

/// The most that a worker keeps where weights fill the free slots of its repeated block.
int most_kept_by(const std::vector<InBlock>& passes) {
  int kept = 0, most = 0, owed = 0, free = 0;
  for (const auto& [slot, action] : passes) {
    const int weights = std::min(owed, slot - free);
    owed -= weights;
    kept -= weights;
    free = slot + 1;
    if (action.pass == Pass::forward) most = std::max(most, ++kept);
    if (action.pass == Pass::backward_inputs) ++owed;
  }
  return most;
}

/// The table that keeps the block's order of forward passes and its memory, and lets everything go as soon as
/// it can: what comes first in the block first, weights last.
Schedule squeezed(const ScheduleOptions& options, Block (*block)(int, int)) {
  const int p = options.stages;
  const int m = options.micro_batches;
  std::vector<Action> wanted;
  Cells<int> turn(2 * p, m, 0);  // of its worker's forward passes
  int limit = 0;
  for (int r = 0; r < p; ++r) {
    const std::vector<InBlock> passes = repeated(block(r, p), r, p, m);
    limit = std::max(limit, most_kept_by(passes));
    int forward = 0;
    for (const auto& [slot, action] : passes) {
      wanted.push_back(action);
      if (action.pass == Pass::forward) turn.of(action) = forward++;
      if (action.pass == Pass::backward_inputs) wanted.push_back(as(Pass::backward_weights, action));
    }
  }
  const auto rank = [](const Action& a) { return a.pass == Pass::backward_weights ? 1 : 0; };
  const auto may_start = [&](const Action& a, int forward, int kept) {
    return a.pass != Pass::forward || (kept < limit && turn.of(a) == forward);
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
