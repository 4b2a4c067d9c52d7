// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map X → Y: it keeps the vector meant. Canonical:
/// (1) axes that only Y shards enter, minor-most, on each dim in Y's order, those that move nothing first: Slice,
///     ReduceScatter;
/// (2) axes that neither shards change, all of one kind together: Agree, AllReduce, Term, Copy;
/// (3) one exchange among the axes beyond the common prefix of a dim: Halo into splits that overlap in copies and
///     HaloSum out of those that overlap in terms; AllToAll if it is one axis that goes to another dim, Shift if whole
///     pieces change their owners along one axis, else Repartition;
/// (4) axes that only X shards leave, as the adjoint of entering: AllGather, Pad.
/// Where (1) or (4) would bring a second axis to a dim whose split overlaps, all axes move in one Repartition.
/// Between two partitions of the world, whatever their workers and grids have in common, it is one exchange of boxes:
/// Scatter, Gather, Broadcast, SumReduce, SendRecv or Repartition (see across.h).
/// An axis of one worker needs no step.
///
/// @post adjoint(between(X, Y)) == between(dual(Y), dual(X))
/// Local; communicates nothing. @throws Error naming both spaces where there is no natural map: other shapes or units.
Operator between(const Space& X, const Space& Y);

}  // namespace riesz
