// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// How a worker that is free chooses.
struct Preference {
  /// Among the actions that are ready and may start, the one of the least rank goes first; of equals the
  /// first asked for.
  std::function<int(const Action&)> rank;
  /// May it start now? `forward` passes the worker has begun, of which `kept` have not ended their backward
  /// pass.
  std::function<bool(const Action&, int forward, int kept)> may_start;
};

/// A table by list scheduling: time goes on with the given costs, and each worker that is free takes, of the
/// wanted actions that are ready, the one that it prefers. An action is ready when what it needs is on its
/// worker, as in `simulate`; a recompute, when the gradient for which it is made has arrived. Where each
/// action took a time of 1, that is its slot; else the table is `aligned`. @throws Error if the preferences
/// let nothing start while something is wanted.
Schedule list_schedule(const std::vector<int>& worker_of, int micro_batches,
                       const std::vector<Action>& wanted, const Preference& preference, const Costs& costs);

}  // namespace riesz
