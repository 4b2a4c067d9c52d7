// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// How long the passes of one chunk take, in any unit of time. A whole backward pass takes that of inputs and
/// that of weights together.
struct PassCosts {
  double forward = 1;
  double backward_inputs = 1;
  double backward_weights = 1;
  double recompute = 1;

  double of(Pass pass) const;
};

struct Costs {
  std::vector<PassCosts> chunks = {{}};  ///< of each chunk; one for all, where all are alike
  double send = 0;                       ///< from the end of an action until another worker has its result

  double of(const Action& action) const;
};

/// @throws Error unless the costs are of one or of all chunks, and none is below 0.
void check_costs(const Costs& costs, int chunks);

/// An action, and when a worker did it.
struct Timed {
  Action action;
  double start = 0;
  double end = 0;
};

/// The times of each worker's actions: simulated, or recorded. Idle slots are not in it.
struct Timeline {
  std::vector<std::vector<Timed>> rows;
};

/// When each worker does what, if each does its row in order and an action starts as soon as what it needs is
/// there; sending keeps nobody. Deterministic, local. @throws Error of `verify`.
Timeline simulate(const Schedule& schedule, const Costs& costs = {});

/// The same with any duration of an action.
Timeline simulate(const Schedule& schedule, const std::function<double(const Action&)>& duration,
                  double send);

/// From the first start to the last end.
double span(const Timeline& timeline);

/// The share of the workers' time, from the first start to the last end of all, in which they do nothing.
double bubble(const Timeline& timeline);

/// How long each worker waits between its own first start and last end: all that is lost where workers go on
/// to the next step without waiting for each other.
std::vector<double> waiting(const Timeline& timeline);

}  // namespace riesz
