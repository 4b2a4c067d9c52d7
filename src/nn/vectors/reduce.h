// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

// Reductions over dims, which the result lacks; −1 is the last dim. To use the result beside x again, name
// indices: sub(x, "btc", mean(x, {2}), "bt"), which also adds terms where it must. Half types are summed in
// fp32, also over workers, and the result is rounded once; a result that stays Partial, in each of its terms.

struct ReduceOptions {
  /// By default the result is Partial on the axes that shard a dim that is summed over: each worker has its
  /// part of the sum, and nothing is sent. With this it is Replicated, by an AllReduce of the result;
  /// backward moves nothing.
  bool all_reduce = false;
};

/// Σ x over these dims, or over all if none is named. Linear, so x may be Partial. On axes that shard none of
/// these dims the result lies as x does. @throws Error naming the dim and the remedy if it is missing or
/// given twice. Also if its split overlaps in copies: elements would count twice.
Vector sum(const Vector& x, const std::vector<int>& dims = {}, const ReduceOptions& options = {});

/// The same divided by the number of elements of the global dims, never by ranks.
Vector mean(const Vector& x, const std::vector<int>& dims = {}, const ReduceOptions& options = {});

/// The greatest element over these dims, or over all; NaN where an element is NaN. The result is Replicated
/// on the axes that shard these dims. The gradient goes in equal shares to the elements that equal it,
/// wherever they are. Cost: nothing where no axis shards these dims. Else an AllMax of the result, and while
/// gradients are recorded also an AllReduce of it, which counts the equal elements. Nothing in backward.
/// @throws Error on Partial x; naming the dim as `sum` does; or where there are no elements.
Vector max(const Vector& x, const std::vector<int>& dims = {});

}  // namespace riesz
