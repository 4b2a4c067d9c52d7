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

/// x in another shape with as many elements, in row-major order, as a view where memory allows. Where dims
/// are joined into one, only the first may be sharded. A dim that is taken apart must be sharded in whole
/// rows of its later parts, and its axes then shard the first. Units (`Space::unit`) follow. (T, C) with T in
/// units of u becomes T·C in units of u·C. n in units of u becomes (n/m, m) with n/m in units of u/m, or of 1
/// where m does not divide u.
/// @throws Error naming the axis and dims where workers would hold no such pieces.
Vector reshape(const Vector& x, const std::vector<std::int64_t>& shape);
/// The same into a given space, whose units and splits may differ as long as every worker holds the same
/// elements in the same order.
Vector reshape(const Vector& x, const Space& Y);
/// `flatten` joins dims first … last into one; `unflatten` takes a dim apart: (B, T, C) → (B, T, nh, hs).
Vector flatten(const Vector& x, int first, int last);
Vector unflatten(const Vector& x, int dim, const std::vector<std::int64_t>& sizes);

/// The dims in another order: permute(x, "btc->tbc").
Vector permute(const Vector& x, const std::string& indices);

/// The elements with this global index of a dim; the result lacks that dim. Where axes shard it, the result
/// is Partial on them: the worker that has the elements keeps them, the others hold zero.
Vector select(const Vector& x, int dim, std::int64_t index);
/// All of them, by index.
std::vector<Vector> unbind(const Vector& x, int dim);

/// The elements of global indices [begin, end) of a dim. Its unit stays x's if both are multiples of it, else
/// it is one. Where an axis shards the dim, every worker keeps the elements that it has, and the split says
/// so; balance it again with between(X, Y).
/// @throws Error where several axes of more than one worker shard the dim.
Vector slice(const Vector& x, int dim, std::int64_t begin, std::int64_t end);

/// The vectors one after another along a dim. Their spaces may differ in that dim alone: in extent, unit (the
/// result's divides them all) and split, but not in axes. Where an axis shards the dim, every worker keeps
/// its pieces of each vector, and the split says so.
/// @throws Error naming both spaces where they differ otherwise; as `slice`.
Vector cat(const std::vector<Vector>& xs, int dim);
/// Vectors of one space along a new dim at this position.
Vector stack(const std::vector<Vector>& xs, int dim);

}  // namespace riesz
