// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/intervals/segments.h"
#include "riesz/partition/space.h"

namespace riesz {

/// The kind of an overlap: where a split's intervals overlap, workers hold copies, or terms of a sum.
enum class Overlap { copies, terms };

namespace detail {

/// The segments that the worker of `rank` holds, by dim. In dims whose overlaps are of the kind `once`, an
/// index is given only to the first worker that holds it.
std::vector<Segments> held_segments(const Space& S, int rank, Overlap once);

/// What two workers exchange: for each dim, segments of the worker of `rank` in S. If `once` is copies, they
/// go to the worker of `other` in T. If it is terms, they come from that worker. A worker sends only copies
/// that no worker before it holds. It takes only terms that no worker before it takes.
///
/// There are two exceptions:
///
/// (1) If S and T are on one partition, a dim may be split in the same way in both. Then two workers that
/// hold the same of it exchange all that they hold.
///
/// (2) If an axis with an overlapping split shards both S and T, or if S and T are on two partitions, a
/// worker keeps all that it can. It exchanges with another worker only what that worker does not hold in S.
/// This does not apply where the sender's copies become the receiver's terms. Nor does it apply between two
/// partitions if T is Replicated on an axis: all replicas exchange the same with one worker.
std::vector<Segments> exchanged_segments(const Space& S, int rank, Overlap once, const Space& T, int other);

}  // namespace detail

/// This worker's part in Y of a tensor of Y's global shape: a view if it is one box, else a copy. Where
/// splits of Y overlap in terms, the first holder of an index has the element; the others have zero.
at::Tensor take_boxes(const at::Tensor& global, const Space& Y);
/// The same, taken from x, which this worker holds in X, a space on the same partition.
at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y);

/// The transpose of `take_boxes`: this worker's tensor in Y, which holds more than x. It has x at the indices
/// of x, and zero elsewhere. Where splits of X overlap in copies, only the first holder's copy counts;
/// overlapping terms are added.
at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y);

}  // namespace riesz
