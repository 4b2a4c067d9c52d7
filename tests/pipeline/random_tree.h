// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <random>

#include "riesz/pipeline/partitioner/cost_tree.h"

namespace riesz::testing {

/// A tree of 1 to 4 parts with 0 to 3 of their own each, down to two levels, with costs that are whole
/// numbers from 0 on. The root's make the sums of time and of memory 1024, so shares of them are exact.
CostTree random_tree(std::mt19937& random);

/// A root of blocks "0", "1" … without parts.
CostTree chain_of(const std::vector<Cost>& blocks, const std::vector<double>& outputs = {});

}  // namespace riesz::testing
