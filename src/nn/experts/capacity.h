// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "riesz/nn/experts/dispatch.h"
#include "riesz/nn/experts/token_runs.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {

// Each drops from `choices`, this worker's, what exceeds the capacity of an expert, counted over all workers
// that shard tokens: it becomes −1. The result has the counts of choices kept by worker, in the order of
// `TokenRuns::ranks`. Without gradient, in program order; collective over these workers.

/// Keeps first choices before second ones, and of these the tokens of the lowest numbers.
RowCounts drop_by_position(const Partition& partition, const TokenRuns& tokens, std::int64_t experts,
                           std::int64_t capacity, Choices& choices);

/// Keeps the greatest of `scores` (…, k), those of the choices; of equal ones the token of the lower number.
RowCounts drop_by_probability(const TokenRuns& tokens, std::int64_t experts, std::int64_t capacity,
                              const Vector& scores, Choices& choices);

}  // namespace riesz::detail
