// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz {

// Each is point-wise, and differentiable by its vectors. Beside what vector.h has: x + y, x − y, c·x.

/// x·y, element by element, of vectors that lie alike: same partition, shape, units and shards. One of them
/// may be Partial, or have terms where a split overlaps; the other multiplies every term, and so is used as
/// copies: where it is Replicated its gradient is summed over the terms, an AllReduce in backward. Else
/// local.
/// @throws Error naming both spaces and the remedy where they lie otherwise, or where both are terms: a
/// product of sums is not the sum of products.
Vector operator*(const Vector& x, const Vector& y);
/// x/y, likewise; y is no sum of terms.
Vector operator/(const Vector& x, const Vector& y);

/// −x, c·x and x/c, in any space.
Vector operator-(const Vector& x);
Vector operator*(const Vector& x, double c);
Vector operator/(const Vector& x, double c);

/// x where the condition holds, else y. x and y are in any one space; the condition, of booleans, lies as
/// they do, and where they are Partial it is Replicated or Copied.
/// @throws Error naming the spaces and the remedy where they do not lie so.
Vector where(const Vector& condition, const Vector& x, const Vector& y);
/// The same with one number for y. @throws Error on Partial x: each of its terms would have that number.
Vector where(const Vector& condition, const Vector& x, double y);

/// x with elements of another type; gradients have x's. Partial vectors may change among the types of real
/// and complex numbers, and of integers: their terms are rounded, each by itself.
/// @throws Error on a Partial vector that would be rounded to integers or to truth.
Vector cast(const Vector& x, at::ScalarType type);

}  // namespace riesz
