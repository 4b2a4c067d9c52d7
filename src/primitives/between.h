// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map X → Y: it keeps the vector meant. Canonical:
/// (1) axes that only Y shards enter, minor-most, on each dim in Y's order, those that move nothing first: Slice,
///     ReduceScatter;
/// (2) axes that neither shards change, all of one kind together: Agree, AllReduce, Term, Copy;
/// (3) one exchange among the axes beyond the common prefix of a dim: AllToAll if that is one axis on another dim,
///     else Repartition;
/// (4) axes that only X shards leave, as the adjoint of entering: AllGather, Pad.
/// Between partitions, axes match by name: to a larger one a Broadcast comes first, to a smaller one a SumReduce last;
/// between the same grids of other workers a SendRecv, first or last by the order of the workers.
/// An axis of one worker needs no step.
///
/// @post adjoint(between(X, Y)) == between(dual(Y), dual(X))
/// Local; communicates nothing. @throws Error naming both spaces, and the primitive that would be needed, where there
/// is no natural map: other shapes or units, or partitions of which neither fits into the other.
Operator between(const Space& X, const Space& Y);

}  // namespace riesz
