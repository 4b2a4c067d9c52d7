// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/vector.h"

namespace riesz {

// Point-wise operations, differentiable by their vectors. partition/vector.h has x + y, x − y and c·x.

/// x·y, element by element, of vectors that lie alike: same partition, shape, units and shards. Local. One of
/// them may be Partial, or have terms where a split overlaps. The other then multiplies every term. Where the
/// other is Replicated its gradient is summed over the terms, by an AllReduce in backward.
Vector operator*(const Vector& x, const Vector& y);
/// x/y, likewise; y must not be a sum of terms.
Vector operator/(const Vector& x, const Vector& y);

/// −x, c·x and x/c, in any space.
Vector operator-(const Vector& x);
Vector operator*(const Vector& x, double c);
Vector operator/(const Vector& x, double c);

// Point-wise functions, from x's space to itself. @throws Error on a Partial vector: a function of a sum is
// not the sum of the function. `map` makes others.
Vector exp(const Vector& x);
Vector log(const Vector& x);
Vector sqrt(const Vector& x);
Vector rsqrt(const Vector& x);  ///< 1/√x
Vector tanh(const Vector& x);
Vector abs(const Vector& x);
Vector square(const Vector& x);

/// Gives x where the condition holds, else y. Both are in one space. The condition, of booleans, lies as they
/// do, but is Replicated or Copied where they are Partial.
/// @throws Error naming the spaces and the remedy where they do not lie so.
Vector where(const Vector& condition, const Vector& x, const Vector& y);
/// The same with one number for y.
/// @throws Error on Partial x: each of its terms would have that number.
Vector where(const Vector& condition, const Vector& x, double y);

/// x with elements of another type; gradients have x's type. Each term of a Partial vector is rounded by
/// itself, from real and complex types to such types, or from integers to integers.
/// @throws Error on a Partial vector that would be rounded to integers or booleans.
Vector cast(const Vector& x, at::ScalarType type);

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
/// @throws Error where b would be added to each of several terms: it lacks a dim whose split overlaps in
/// terms.
Vector add(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices);
Vector sub(const Vector& x, const std::string& x_indices, const Vector& b, const std::string& b_indices);

/// x·g and x/g. Where x is Partial, g multiplies every term, and its gradient is summed over these too.
Vector mul(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices);
Vector div(const Vector& x, const std::string& x_indices, const Vector& g, const std::string& g_indices);

/// v for all of Y's other indices, in Y, which is concrete and not Partial: y[b,t,c] = v[c] for
/// expand(v, "c", Y, "btc"). Its adjoint sums over them. Cost: of v's natural map beside Y. No memory.
Vector expand(const Vector& v, const std::string& v_indices, const Space& Y, const std::string& y_indices);

}  // namespace riesz
