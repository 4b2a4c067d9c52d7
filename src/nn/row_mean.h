// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "riesz/partition/space.h"

namespace riesz {

/// The space of a weight that stands beside the last dim of X: where that dim is whole on each worker,
/// Replicated; where axes shard it, Sharded by the same axes and splits, and Replicated on the others.
/// @throws Error naming `layer` and X if the last dim is missing, of any extent, or its split overlaps.
Space beside_last_dim(const std::string& layer, const Space& X);

/// A letter for each dim of X, as `Alongside` names them.
std::string letters_of(const Space& X);

/// The mean of what a vector of X has over its last dim: from each worker's sum over its pieces of the rows
/// to (…, 1). On the axes that shard that dim the sums are added and every worker gets the mean, Copied: each
/// uses it beside its own piece of the row, so the gradients of the copies are added. A worker outside X's
/// partition gives and gets a tensor without elements. Cost, with m rows on a worker: an AllReduce of m
/// elements where the dim is sharded, and one in backward; else nothing. Collective over the axes that shard
/// the last dim. Differentiable.
at::Tensor row_mean(const Space& X, const at::Tensor& sums);

}  // namespace riesz
