// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map X → Y: it keeps the vector meant. Its steps, in this order, each where the spaces need it:
///
/// (1) Axes that shard only in Y begin to shard, by Slice or ReduceScatter. Each becomes the innermost axis
/// of its dim, in Y's order. As far as that order allows, Slices come before ReduceScatters. Example:
/// "ReduceScatter over tp: Partial -> Sharded(1)".
///
/// (2) Axes that neither space shards change their placement, all of one kind together: Agree, AllReduce,
/// Term, Copy. Example: "Copy over tp: Replicated -> Copied".
///
/// (3) One exchange moves all axes that shard otherwise in X than in Y. It is Halo into splits that overlap
/// in copies, and HaloSum out of those that overlap in terms. It is AllToAll if one axis goes to another dim,
/// and Shift if whole pieces change their owners along one axis. Else it is Repartition. Example: "AllToAll
/// over sp: Sharded(2) -> Sharded(3)".
///
/// (4) Axes that shard only in X shard no more, by AllGather or Pad: the adjoints of (1). Example: "AllGather
/// over tp: Sharded(1) -> Copied".
///
/// Where (1) or (4) would bring a second axis to a dim whose split overlaps, all axes move in one
/// Repartition. Between two partitions, whatever they have in common, the map is one exchange of boxes. Its
/// name is Scatter, Gather, Broadcast, SumReduce, SendRecv or Repartition. An axis of one worker needs no
/// step, unless its split overlaps or is out of order (`Space::counts`).
///
/// @post adjoint(between(X, Y)) == between(dual(Y), dual(X))
/// Local; communicates nothing. @throws Error naming both spaces where there is no natural map: other shapes
/// or units.
Operator between(const Space& X, const Space& Y);

}  // namespace riesz
