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

// Both set to −1 the choices of this worker that exceed an expert's capacity. Capacity is counted over all
// workers that shard tokens. The result has, by worker in the order of `TokenRuns::ranks`, the counts of the
// choices that are kept. Without gradient, in program order; collective over these workers.

/// Keeps first choices before second ones, then tokens of lower numbers before others. Sends each other
/// worker `tokens.most()`·k·E counts.
RowCounts drop_by_position(const Partition& partition, const TokenRuns& tokens, std::int64_t experts,
                           std::int64_t capacity, Choices& choices);

/// Keeps the choices with the greatest `scores` (…, k); among equal ones the token of the lower number.
/// Gathers all workers' scores and choices.
RowCounts drop_by_probability(const TokenRuns& tokens, std::int64_t experts, std::int64_t capacity,
                              const Vector& scores, Choices& choices);

}  // namespace riesz::detail
