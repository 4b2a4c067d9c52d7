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

/// The segments that the worker of `rank` holds, by dim. In dims whose overlaps are of the kind `once`, it
/// has only those that no worker before it holds.
std::vector<Segments> held_segments(const Space& S, int rank, Overlap once);

/// The segments that the worker of `rank` in S exchanges with that of `other` in T, the space at the other
/// end, by dim. It sends only copies that no worker before it holds, and takes only terms that no worker
/// before it takes.
///
/// Two cases differ. If on one partition a dim lies alike at both ends, two workers that hold the same of it
/// exchange all that they hold. If the overlapping axis shards at both ends, or the partitions are two, a
/// worker keeps all that it can. It exchanges with another only what that one has not itself. The second case
/// leaves out copies that turn into terms, and the reverse. Between partitions it also leaves out that T has
/// replicas, for these get the same from one worker, or give it.
std::vector<Segments> exchanged_segments(const Space& S, int rank, Overlap once, const Space& T, int other);

}  // namespace detail

/// This worker's part in Y of a tensor of Y's global shape: a view if it is one box, else a copy. Where
/// splits of Y overlap in terms, the first holder of an index has the element; the others have zero.
at::Tensor take_boxes(const at::Tensor& global, const Space& Y);
/// The same, taken from x, which this worker holds in X, a space on the same partition.
at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y);

/// The transpose of `take_boxes`: x at its place in Y, where this worker holds more, and zero elsewhere.
/// Where splits of X overlap in copies, only the first holder's copy counts; overlapping terms are added.
at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y);

}  // namespace riesz
