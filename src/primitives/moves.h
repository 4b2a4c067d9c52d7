// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz {

/// The moves that `between` composes: each goes from X to Y along the axes at these positions of their grid.
/// In the formulas, worker r of a fibre of p workers holds x_r, n_r elements of the vector's n. Costs are
/// those of workers on one host. Between hosts a move may take one round more (`HostCopy`). On all these axes
/// X and Y must be placed as the first line of the move says, and equally on the others. Else it throws an
/// Error naming both spaces.
namespace primitives {

/// Copy: Replicated → Copied on the axes. y_r = x_r, an alias. Every worker has the vector already and uses
/// its copy differently, so the copies' gradients are added. Adjoint: AllReduce, Partial → Replicated. Cost:
/// 0 elements, 0 messages.
Step copy(const Space& X, const Space& Y, const std::vector<int>& axes);

/// AllReduce: Partial → Replicated or Copied on the axes. The sum y_r = Σ x_s over the fibre is in rank order
/// (bf16 and fp16 in fp32), with the same bits on all workers. Adjoint of Partial → Replicated: Copy,
/// Replicated → Copied. Partial → Copied is its own adjoint. Cost: (n − c_r) + (p − 1)·c_r elements leave
/// worker r, where chunk r of Split::balanced(n, p) has c_r elements. That is 2(p − 1)/p·n elements in 2(p −
/// 1) messages if p divides n. Two workers with up to 8,192 elements need one message of n elements each.
Step all_reduce(const Space& X, const Space& Y, const std::vector<int>& axes);

/// AllGather: Sharded(d) → Replicated or Copied. y_r is the pieces of the whole fibre put together. Adjoint
/// of Sharded(d) → Replicated: Slice, Replicated → Sharded(d). Adjoint of Sharded(d) → Copied: ReduceScatter,
/// Partial → Sharded(d). Cost: (p − 1)·n_r elements and p − 1 messages leave worker r.
Step all_gather(const Space& X, const Space& Y, const std::vector<int>& axes);

/// ReduceScatter: Partial → Sharded(d). y_r = Σ x_s | box_r over the fibre, in rank order (bf16 and fp16 in
/// fp32). Adjoint: AllGather, Sharded(d) → Copied.
/// Cost: n − n_r elements leave worker r, in a message to each worker that keeps any.
Step reduce_scatter(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Slice: Replicated or Copied → Sharded(d). y_r = x_r | box_r: each worker keeps its piece of what all have.
/// It is a view if the piece is one box. Adjoint of Replicated → Sharded(d): AllGather, Sharded(d) →
/// Replicated. Adjoint of Copied → Sharded(d): Pad, Sharded(d) → Partial. Cost: 0 elements, 0 messages.
Step slice(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Pad: Sharded(d) → Partial. y_r is x_r in the box of its piece, zero elsewhere: the terms sum to the
/// vector. Adjoint: Slice, Copied → Sharded(d). Cost: 0 elements, 0 messages.
Step pad(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Agree: Copied → Replicated on the axes. y_r = x_r, an alias: the copies must be equal. From here on all
/// workers compute the same with them. Adjoint: Term, Replicated → Partial. Cost: 0 elements, 0 messages.
/// Law: ⟨A x, y⟩ = ⟨x, A* y⟩ for equal copies.
Step agree(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Term: Replicated or Copied → Partial on the axes. The first worker of each fibre keeps the vector, the
/// others hold zero, so that the terms sum to it. Adjoint of Replicated → Partial: Agree, Copied →
/// Replicated. Copied → Partial is its own adjoint. Cost: 0 elements, 0 messages.
Step term(const Space& X, const Space& Y, const std::vector<int>& axes);

/// AllToAll: Sharded(d) → Sharded(e) on one axis. Each worker gives every other the part of its piece that
/// the other needs. Adjoint: the reverse, Sharded(e) → Sharded(d). Cost: what worker r holds of the others'
/// new pieces: (p − 1)/p·n_r elements where p divides the sizes, p − 1 messages.
Step all_to_all(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Shift: Sharded → the same pieces on owners rotated by some k, along one axis. y_{i+k} = x_i (mod p).
/// Adjoint: the shift back. Cost: n_r elements in one message leave worker r.
Step shift(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Halo: owned boxes → covering boxes, along any axes in one round, corners included. A worker owns its box
/// in X, where no split overlaps in copies. Its box in Y is filled by the owners of its indices; what it owns
/// itself stays. Adjoint: HaloSum. Cost: Σ over other workers |own ∩ need| elements, in one message to each
/// that needs any.
Step halo(const Space& X, const Space& Y, const std::vector<int>& axes);

/// HaloSum: covering boxes of terms → owned boxes: every term is added to its owner's, in rank order.
/// Adjoint: Halo. Cost: what the Halo sends, the other way.
Step halo_sum(const Space& X, const Space& Y, const std::vector<int>& axes);

/// Repartition: Sharded → Sharded on several axes together, or anew on one dim: any boxes to any boxes of one
/// grid, in one round. Axes that are not sharded at an end may change with them, as `Routes` says. Adjoint:
/// the reverse. Cost, if the axes are sharded at both ends and no split overlaps: worker r sends what it owns
/// and does not need, each element once, in a message to each worker that needs some of it. No exchange sends
/// less.
Step repartition(const Space& X, const Space& Y, const std::vector<int>& axes);

/// The natural map between spaces on two partitions, as one exchange of boxes. Their workers, orders and
/// grids may differ. Its name says its form:
///
///     Scatter      one worker → Sharded on every axis            adjoint: Gather
///     Gather       Sharded on every axis → one worker            adjoint: Scatter
///     SendRecv     a space → the same space on other workers     adjoint: SendRecv, back
///     Broadcast    a space → copies of it on a larger grid       adjoint: SumReduce
///     SumReduce    terms on a larger grid → their sum            adjoint: Broadcast
///     Repartition  any other pair                                adjoint: Repartition
///
/// Grids are compared by the names and extents of their axes of more than one worker. Cost: each worker
/// receives what it needs and lacks, from workers that hold it, in one message for each pair. Between Sharded
/// ends these are Σ |need \ own| elements. A Broadcast or SumReduce costs (copies − 1)·n if the larger grid
/// has the workers of the smaller one, else copies·n.
Step across(const Space& X, const Space& Y);

}  // namespace primitives

/// X with rotated owners along `axis`: worker i of the axis holds what worker i − k held (mod p).
/// @throws Error unless the axis shards a dim of X alone.
Space rotated(const Space& X, const std::string& axis, int k);

}  // namespace riesz
