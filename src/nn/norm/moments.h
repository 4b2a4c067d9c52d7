// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// The space of a weight that stands beside the last dim of X. Where that dim is whole on each worker, it is
/// Replicated. Where axes shard the dim, it is Sharded by the same axes and splits, and Replicated on the
/// others.
/// @throws Error naming `layer` and X if the last dim is missing, of any extent, or its split overlaps.
Space beside_last_dim(const std::string& layer, const Space& X);

/// @throws Error naming `layer`, the space and the axis if X is Partial or Copied on it.
void check_normalises(const std::string& layer, const Space& X);

/// A letter for each dim of X, as what stands beside it is named.
std::string letters_of(const Space& X);

/// The mean of what a vector of X has over its last dim: from each worker's sum over its pieces of the rows
/// to (…, 1). On the axes that shard that dim the sums are added, and every worker gets the mean, Copied.
/// Each uses it beside its own piece of the row, so the gradients of the copies are added. A worker outside
/// X's partition gives and gets a tensor without elements. Cost, with m rows on a worker: an AllReduce of m
/// elements where the dim is sharded, and one in backward; else nothing. Collective over the axes that shard
/// the last dim. Differentiable.
at::Tensor row_mean(const Space& X, const at::Tensor& sums);

/// For local rows (…, n): a mean and a scale a row, (…, 1), and a weight and a bias a column, which
/// broadcast. The mean and the bias may be undefined, and are then zero.
struct Normalisation {
  at::Tensor mean, scale, weight, bias;
};

/// y = (x − mean)·scale·weight + bias, computed in at least fp32 and given in x's type: what a norm does when
/// it knows its rows' moments. Saves its operands for backward and nothing as large as x besides, where the
/// same by four of torch's operations saves x − mean and (x − mean)·scale too. Local. Differentiable.
at::Tensor normalised(const at::Tensor& x, const Normalisation& by);

/// Σ (x − mean)² over the last dim, in at least fp32: (…, n) and (…, 1) → (…). Saves its operands alone.
/// Local. Differentiable.
at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean);

}  // namespace riesz::detail
