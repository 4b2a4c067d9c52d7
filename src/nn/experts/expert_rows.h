// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/nn/experts/expert_parts.h"

namespace riesz {

/// How many rows a worker sends, gets and computes in one call of its experts. A row is a token for one part
/// of an expert. The numbers are known only in the call, so a plan has the expected ones and the most.
struct ExpertRows {
  double sent = 0;      ///< to other workers of the axis; as many results come back
  double received = 0;  ///< from other workers; as many results go back
  double computed = 0;  ///< by this worker's experts, for the tokens of all workers
};

/// The expected rows of a worker of the axis, where a gate chooses each expert equally often. `tokens` has
/// the number of tokens of each worker, and each token has k choices. An expert that several workers share
/// gets a row on each. With P parts, p of them here, and N tokens, n of them here,
///
///     sent = n·k/E·(P − p)    received = (N − n)·k/E·p    computed = N·k/E·p
///
/// Pure. @pre `tokens` has one entry for each worker
ExpertRows expected_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                         std::int64_t k);

/// The most rows. Sent: each token chooses the k experts with the most parts on other workers. Received and
/// computed: it chooses experts of this worker, up to k. Each maximum holds alone.
ExpertRows most_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                     std::int64_t k);

}  // namespace riesz
