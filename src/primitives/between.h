// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map X → Y: it keeps the vector meant. Its steps, in this order, each where the spaces need it:
///
/// (1) Axes that only Y shards enter, as innermost ones, on each dim in Y's order, those that move nothing
/// first: Slice, ReduceScatter. Partial to Sharded(1): "ReduceScatter over tp: Partial -> Sharded(1)".
///
/// (2) Axes that neither shards change, all of one kind together: Agree, AllReduce, Term, Copy. Replicated to
/// Copied: "Copy over tp: Replicated -> Copied".
///
/// (3) One exchange among the axes that shard a dim otherwise in X than in Y: Halo into splits that overlap
/// in copies, HaloSum out of those that overlap in terms; AllToAll if one axis goes to another dim, Shift if
/// whole pieces change their owners along one axis, else Repartition. Sharded(2) to Sharded(3): "AllToAll
/// over sp: Sharded(2) -> Sharded(3)".
///
/// (4) Axes that only X shards leave, as the adjoint of entering: AllGather, Pad. Sharded(1) to Copied:
/// "AllGather over tp: Sharded(1) -> Copied".
///
/// Where (1) or (4) would bring a second axis to a dim whose split overlaps, all axes move in one
/// Repartition. Between two partitions of the world, whatever their workers and grids have in common, it is
/// one exchange of boxes: Scatter, Gather, Broadcast, SumReduce, SendRecv or Repartition. An
/// axis of one worker needs no step.
///
/// @post adjoint(between(X, Y)) == between(dual(Y), dual(X))
/// Local; communicates nothing. @throws Error naming both spaces where there is no natural map: other shapes
/// or units.
Operator between(const Space& X, const Space& Y);

}  // namespace riesz
