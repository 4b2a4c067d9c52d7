// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/pipeline/partitioner/divide.h"

namespace riesz::testing {

/// Calls `use` with every way to have n things in contiguous stages on exactly so many workers, at most
/// `replicas` for one stage: with more in an early stage first, then with fewer workers for it.
void for_every_division(std::size_t things, int workers, int replicas,
                        const std::function<void(const Division&)>& use);

/// Costs of its stages.
std::vector<double> costs_of(const Division& division, int workers, const StageCost& cost);

/// The one that `divide` promises, by trying all; without stages if none is possible.
Division best_division(std::size_t things, int workers, int replicas, const StageCost& cost);

/// A stage costs the sum of what is in it.
StageCost sum_of(const std::vector<double>& costs);

}  // namespace riesz::testing
