// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// The natural map between spaces on two partitions of the world, whatever their workers, orders and grids
/// have in common, as one exchange of boxes. Its name says its form:
///   Scatter    one worker → Sharded on every axis            adjoint: Gather
///   Gather     Sharded on every axis → one worker            adjoint: Scatter
///   SendRecv   a space → the same space on other workers     adjoint: SendRecv, back
///   Broadcast  a space → copies of it on a larger grid       adjoint: SumReduce
///   SumReduce  terms on a larger grid → their sum            adjoint: Broadcast
///   Repartition  any other pair                              adjoint: Repartition
/// Grids are compared by the names and extents of their axes of more than one worker.
/// Cost: each worker receives what it needs and has not, from those that hold it: Σ |need \ own| elements in
/// all for Sharded ends, (copies − 1)·n for a Broadcast or a SumReduce among the workers of the larger grid,
/// or copies·n where the smaller is none of them. One message for each pair of workers that has anything to
/// say.
Step across(const Space& X, const Space& Y);

}  // namespace riesz::primitives
