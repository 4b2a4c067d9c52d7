// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/intervals/segments.h"
#include "riesz/partition/space.h"

namespace riesz {

/// What workers hold where a split's intervals overlap: copies, or terms of a sum.
enum class Overlap { copies, terms };

namespace detail {

/// What the worker of `rank` holds, by dim. In dims whose overlaps are of the kind `once`, only what no
/// worker before it holds.
std::vector<Segments> held_segments(const Space& S, int rank, Overlap once);

/// What the worker of `rank` in S exchanges with that of `other` in T, the space at the other end, by dim. It
/// sends only copies that no worker before it holds, and takes only terms that no worker before it takes. If
/// both spaces are on one partition, a dim that lies alike at both ends stays as it is between workers that
/// hold the same of it; where the overlapping axis shards at both ends, and not in copies at the one and
/// terms at the other, a worker has all to do with itself, and with another only what that one has not
/// itself.
std::vector<Segments> exchanged_segments(const Space& S, int rank, Overlap once, const Space& T, int other);

}  // namespace detail

/// This worker's part in Y of a tensor of Y's shape: a view if it is one box, else packed. Where splits of Y
/// overlap in terms, the first holder of an index has it; the others have zero.
at::Tensor take_boxes(const at::Tensor& global, const Space& Y);
/// The same, taken from what it holds in X, a space on the same partition.
at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y);

/// The transpose: x at its place in Y, which holds more, and zero elsewhere. Where splits of X overlap in
/// copies, the first holder gives its own; overlapping terms are added.
at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y);

}  // namespace riesz
