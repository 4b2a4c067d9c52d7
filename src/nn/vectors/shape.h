// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

// The elements of x in another order, some of them, or those of several vectors together. All are linear, so
// x may be Partial; local, nothing is sent in either direction; differentiable. −1 is the last dim. Workers
// outside the partition keep a zero-volume tensor. A space that no such result has is an error that names
// axis, dim and remedy.

/// x in another shape with as many elements, in row-major order, as a view where memory allows. Dims that
/// become one, or of which several are made, keep the axes of the first: what is joined may be sharded on its
/// first dim alone, what is taken apart in whole rows of the new later dims. Units go along: (T, C) in units
/// of u and 1 are T·C in units of u·C; taken apart, n in units of u are n/m in units of u/m, or of 1 where m
/// does not divide u.
/// @throws Error naming the axis and dims where workers would hold no such pieces.
Vector reshape(const Vector& x, const std::vector<std::int64_t>& shape);
/// The same into a space, of other units or splits of dims, where all workers hold the same elements in the
/// same order.
Vector reshape(const Vector& x, const Space& Y);
/// Dims first … last as one; dim as several: (B, T, C) → (B, T, nh, hs).
Vector flatten(const Vector& x, int first, int last);
Vector unflatten(const Vector& x, int dim, const std::vector<std::int64_t>& sizes);

/// The dims in another order: permute(x, "btc->tbc").
Vector permute(const Vector& x, const std::string& indices);

/// The elements with this global index of a dim, which the result has no more. Where axes shard the dim, the
/// worker that has them keeps them and the others hold zero: Partial on these axes.
Vector select(const Vector& x, int dim, std::int64_t index);
/// All of them, by index.
std::vector<Vector> unbind(const Vector& x, int dim);

/// The elements of global indices [begin, end) of a dim, in units of x's if it is whole units, else of one.
/// Where an axis shards the dim, every worker keeps what it has of them, in a split that says so; balance it
/// again with between(X, Y). @throws Error where several axes of more than one worker shard the dim.
Vector slice(const Vector& x, int dim, std::int64_t begin, std::int64_t end);

/// One after another along a dim; their spaces differ in that dim alone, and there in extent, units (the
/// result's divide them all) and splits, not in axes. Where an axis shards the dim, every worker keeps its
/// pieces of each, in a split that says so. @throws Error naming both spaces where they differ otherwise; as
/// `slice`.
Vector cat(const std::vector<Vector>& xs, int dim);
/// Vectors of one space along a new dim at this position.
Vector stack(const std::vector<Vector>& xs, int dim);

}  // namespace riesz
