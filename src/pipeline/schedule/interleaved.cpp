// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/in_turns.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

void check(int p, int m, int group) {
  const bool fits = group >= p && group <= m && (m % group == 0 || m % group >= p);
  RIESZ_CHECK(
      fits, "interleaved: ", m, " micro-batches in groups of ", group, " on ", p,
      " workers: a group has at least as many micro-batches as there are workers, and so has the last one; ",
      m < p ? concat("take ", p, " micro-batches or more, or another schedule")
            : concat("take a number of micro-batches that is a multiple of ", p, ", or a group of ", m));
}

/// The pass on one worker in its order: a group of micro-batches in each of its chunks, then the next group.
std::vector<Action> by_groups(Pass pass, std::vector<int> chunks, int m, int group) {
  std::vector<Action> passes;
  for (int first = 0; first < m; first += group) {
    for (const int chunk : chunks) {
      for (int i = first; i < std::min(m, first + group); ++i) passes.push_back({pass, chunk, i});
    }
  }
  return passes;
}

}  // namespace

Schedule interleaved(const ScheduleOptions& options) {
  check_options("interleaved", options, 0, {"group"});
  const int p = options.stages;
  const int m = options.micro_batches;
  const int v = options.chunks > 0 ? options.chunks : 2;
  const int group = options.group > 0 ? options.group : p;
  check(p, m, group);
  Schedule table{looped(p, v), m, {}};
  for (int r = 0; r < p; ++r) {
    std::vector<int> chunks;
    for (int k = 0; k < v; ++k) chunks.push_back(k * p + r);
    Turns turns{.forward = by_groups(Pass::forward, chunks, m, group), .backward = {}};
    std::reverse(chunks.begin(), chunks.end());
    turns.backward = by_groups(Pass::backward, chunks, m, group);
    turns.ahead = 2 * (p - r - 1) + (v - 1) * group + 1;
    table.rows.push_back(in_turns(turns));
  }
  return aligned(table);
}

}  // namespace riesz::schedules
