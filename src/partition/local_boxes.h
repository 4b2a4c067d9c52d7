// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/segments.h"
#include "riesz/partition/space.h"

namespace riesz {

/// What overlaps where splits do.
enum class Overlap { copies, terms };

/// By dim, what the worker of `rank` holds; where overlaps of a dim are of the kind `once`, only what it is
/// the first to hold.
std::vector<Segments> held(const Space& S, int rank, Overlap once);

/// By dim, what the worker of `rank` in S exchanges with that of `other` in T, the space at the other end: of
/// copies only what it is the first to hold, of terms only what it is the first to take. But on one partition
///   a dim that lies alike at both ends stays as it is between workers that hold the same of it;
///   where the overlapping axis shards at both ends, and not in copies at the one and terms at the other, a
///   worker has all to do with itself, and with another only what that one has not itself.
std::vector<Segments> exchanged(const Space& S, int rank, Overlap once, const Space& T, int other);

/// This worker's part in Y of a tensor of Y's shape: a view where it is one box, else packed. Where splits of
/// Y overlap in terms, the first holder of an index has it, the others zero.
at::Tensor take_boxes(const at::Tensor& global, const Space& Y);
/// The same out of what it holds in X, a space on the same partition.
at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y);

/// The transpose: x where it lies in a Y that holds more, zero elsewhere. Where splits of X overlap in
/// copies, the first holder of an index gives it; what overlaps in terms is added.
at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y);

}  // namespace riesz
