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

/// The counts of rows by block, of each worker of an axis in rank order.
using RowCounts = std::vector<std::vector<std::int64_t>>;

/// All workers' counts along `axes`, from each one's own. They may be of anything, as long as all workers
/// give as many. Without gradient, in program order. Collective over the fibres; a worker sends its counts to
/// each other worker of its fibre, in one message to each. In a `Simulation` the others' counts are this
/// one's.
/// @throws Error naming a negative count.
RowCounts all_row_counts(const Partition& partition, const std::vector<std::string>& axes,
                         const std::vector<std::int64_t>& counts);

/// The operator that brings each row of x to the worker that holds its block. X is sharded on dim 0 by `axis`
/// alone, by any split; `blocks` says which blocks each worker of the axis holds. This worker's rows are
/// sorted by block: the first counts[me][0] are block 0's, the next counts[me][1] block 1's, and so on.
/// `counts` has those of all workers of the axis, as `all_row_counts` gives them.
///
///     y = for each of this worker's blocks in turn: its rows, of all workers of the axis in rank order
///
/// The range Y is X with other rows on each worker: `axis` shards dim 0 in pieces of as many rows as each
/// worker gets. No row is added or lost, so the adjoint is the inverse.
///
/// Local. The operator moves the rows of other workers' blocks, in one message to each worker that gets any.
/// Time and memory grow with the product of blocks and workers of the axis.
/// @throws Error unless X and `blocks` are as above. @throws Error unless each worker has one count for each
/// block, and their sum is the number of its rows.
RoutedRows route_known_rows(const Space& X, const std::string& axis, const Split& blocks,
                            const RowCounts& counts);

/// route_known_rows(X, axis, blocks, all_row_counts(…, counts)): from this worker's counts alone. Collective
/// over the fibres of the axis; it waits for their counts.
RoutedRows route_rows(const Space& X, const std::string& axis, const Split& blocks,
                      const std::vector<std::int64_t>& counts);

}  // namespace riesz
