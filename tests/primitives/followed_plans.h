// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "riesz/primitives/plan/rounds.h"

namespace riesz::testing {

/// An element of a worker's x: its rank in X's partition, and its place in its tensor.
using Term = std::pair<int, std::int64_t>;
/// An element of y: the terms in the order in which they are added; none: zero.
using Sum = std::vector<Term>;

/// One worker's plan, and its tensors, by element, with names of elements for values.
struct PlannedWorker {
  const Rounds* rounds;
  std::vector<std::int64_t> x_shape, y_shape;
  std::vector<Sum> x, y;
};

/// Follows the plans of all workers, by world rank, round by round. A message that nobody sends, or nobody
/// receives, is a failure.
void follow_plans(std::map<int, PlannedWorker>& workers);

}  // namespace riesz::testing
