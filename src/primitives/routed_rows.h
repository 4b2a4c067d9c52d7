// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz {

/// Routed rows: an operator that sends rows to blocks, such as tokens to experts, where the counts are known
/// only at the call.
struct RoutedRows {
  Operator dispatch;               ///< X → Y; its adjoint brings each row back to where it was in X
  std::vector<std::int64_t> rows;  ///< of y: how many each of this worker's blocks has, in their order
};

/// The operator that brings each row of x to the worker that holds its block. X is sharded on dim 0 by `axis`
/// alone, by any split; `blocks` says which blocks each worker of the axis holds. This worker's rows are
/// sorted by block: the first counts[0] are block 0's, the next counts[1] block 1's, and so on.
///
///     y = for each of this worker's blocks in turn: its rows, of all workers of the axis in rank order
///
/// The range Y is X with other rows on each worker: `axis` shards dim 0 in pieces of as many rows as each
/// worker gets. No row is added or lost, so the adjoint is the inverse.
///
/// Collective over the fibres of the axis; it waits for their counts. Cost: to make it, a worker sends each
/// other worker of the axis the counts of that worker's blocks, and one total. The operator moves the rows of
/// other workers' blocks, in one message to each worker that gets any. Time and memory grow with the blocks
/// and the workers of the axis, not with their squares.
/// @throws Error unless X and `blocks` are as above. @throws Error unless there is one count for each block,
/// none negative, and their sum is the number of this worker's rows.
RoutedRows route_rows(const Space& X, const std::string& axis, const Split& blocks,
                      const std::vector<std::int64_t>& counts);

}  // namespace riesz
