// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace riesz {

/// Things 0 … n−1 in contiguous stages, each on some workers.
struct Division {
  std::vector<std::size_t> ends;  ///< of each stage: it has those from the end of the one before
  std::vector<int> workers;       ///< of each stage
  double largest = 0;             ///< cost of a stage
};

/// The cost of a stage of the things [begin, end) on `workers` workers, where `from_here` workers have it and
/// all after it; infinite: not possible.
using StageCost = std::function<double(std::size_t begin, std::size_t end, int workers, int from_here)>;

/// n things in contiguous stages, none empty, on exactly that many workers, at most `replicas` for one stage.
/// It minimises max_s cost(s); then Σ_s cost(s)², the most even; then it puts as much as can be in the first
/// stage, the second …, on few workers. So the result is one, on every worker that has the same costs. With
/// one replica there are as many stages as workers. Nothing in stages if there is no possible one. O(n² ·
/// workers · replicas) calls of cost, twice.
Division divide(std::size_t things, int workers, int replicas, const StageCost& cost);

/// The same where a stage costs the sum of what is in it: `stages` of them.
Division divide(const std::vector<double>& costs, int stages);

}  // namespace riesz
