// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/nn/experts/expert_parts.h"

namespace riesz {

/// How many rows of tokens a worker sends, gets and computes with in a call of its experts. Which ones they
/// are is known only then, so a plan has these: what is expected, and the most there can be.
struct ExpertRows {
  double sent = 0;      ///< to experts on other workers of the axis; as many results come back
  double received = 0;  ///< from other workers
  double computed = 0;  ///< of all workers' tokens, by this worker's experts
};

/// The rows of a worker of the axis of experts, in expectation where a gate chooses each expert equally
/// often. `tokens`: of each worker; each has k choices. An expert that several workers share gets a row on
/// each. With P parts, p of them here, and n tokens of N here,
///
///     sent = n·k/E·(P − p)    received = (N − n)·k/E·p    computed = N·k/E·p
///
/// Pure. @pre as many tokens as the experts have workers
ExpertRows expected_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                         std::int64_t k);

/// The same at the most: each token chooses the k experts whose rows go farthest, or those of this worker.
/// Not all numbers are reached at once.
ExpertRows most_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                     std::int64_t k);

}  // namespace riesz
