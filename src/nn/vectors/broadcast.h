// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/vector.h"

namespace riesz {

// Sums and products of x with a vector that has some of its indices, in their order: add(x, "btc", b, "c") is
// x[b,t,c] + b[c]. The result is in x's space. b lies anywhere, also on another partition; it is read by a
// natural map to stand beside x: Sharded where x shards an index that b has, Copied where x shards another or
// is Copied, Replicated where x is. Cost: of that map, which is nothing where b lies so already, or is
// Replicated; then one local operation. In backward b's gradient is summed over the axes that shard x's other
// indices. What is read is planned once for these spaces. Differentiable by both; collective over both
// partitions.
// @throws Error naming the index or dim and the spaces, unless b's indices are among x's in their order with
// the same extents, in pieces cut alike.

/// x + b and x − b. Where x is Partial, b joins the sum once: the first worker adds it (`Term`).
/// @throws Error where b would be added to each of several terms: of a dim that it has not, whose split
/// overlaps in terms.
Vector add(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices);
Vector sub(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices);

/// x·g and x/g. Where x is Partial, g multiplies every term, and its gradient is summed over these too.
Vector mul(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices);
Vector div(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices);

}  // namespace riesz
