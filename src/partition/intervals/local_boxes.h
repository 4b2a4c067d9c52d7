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

/// The segments that the worker of `rank` in S exchanges with that of `other` in T, the space at the other
/// end, by dim. It sends only copies that no worker before it holds, and takes only terms that no worker
/// before it takes.
///
/// There are two exceptions. First, S and T may be on one partition, and a dim split in the same way in both.
/// Then two workers that hold the same of it exchange all that they hold. Second, an axis with an overlapping
/// split may shard in both, or S and T be on two partitions. Then a worker keeps all that it can, and
/// exchanges with another only what that one does not hold. The second exception does not apply if copies
/// become terms, or terms copies. Nor does it apply between two partitions if T has replicas, for these get
/// the same from one worker, or give it.
std::vector<Segments> exchanged_segments(const Space& S, int rank, Overlap once, const Space& T, int other);

}  // namespace detail

/// This worker's part in Y of a tensor of Y's global shape: a view if it is one box, else a copy. Where
/// splits of Y overlap in terms, the first holder of an index has the element; the others have zero.
at::Tensor take_boxes(const at::Tensor& global, const Space& Y);
/// The same, taken from x, which this worker holds in X, a space on the same partition.
at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y);

/// The transpose of `take_boxes`: x at its indices in Y, where this worker holds more, and zero elsewhere.
/// Where splits of X overlap in copies, only the first holder's copy counts; overlapping terms are added.
at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y);

}  // namespace riesz
