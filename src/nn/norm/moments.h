// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// The space of a weight along X's last dim: Sharded as that dim is, Replicated on all other axes.
/// @throws Error naming `layer` and X if the last dim is missing or of any extent, or its split overlaps.
Space beside_last_dim(const std::string& layer, const Space& X);

/// @throws Error naming `layer`, the space and the axis if X is Partial or Copied on it.
void check_normalises(std::string_view layer, const Space& X);

/// A letter for each dim of X, as what stands beside it is named.
std::string letters_of(const Space& X);

/// The mean over the last dim of X, of shape (…, 1), from each worker's sums over its pieces of the rows. The
/// sums are added over the axes that shard that dim, and every worker gets the mean, Copied. Each worker uses
/// it beside its own piece of the row, so the gradients of the copies are added. A worker outside X's
/// partition gives and gets a tensor without elements. Cost, with m rows on a worker: an AllReduce of m
/// elements where the dim is sharded, and one in backward unless x is a constant (`constant`), so that
/// nothing is recorded; else nothing. Collective over the axes that shard the last dim. Differentiable.
at::Tensor row_mean(const Space& X, const at::Tensor& sums, bool constant = false);

/// The factors of a norm of local rows (…, n): a mean and a scale for each row, (…, 1), and a weight and a
/// bias for each column, which broadcast. An undefined mean or bias is zero.
struct Normalisation {
  at::Tensor mean, scale, weight, bias;
};

/// y = (x − mean)·scale·weight + bias, computed in at least fp32 and given in x's type: the last step of a
/// norm. For backward it saves its operands and nothing else as large as x. Four operations of torch would
/// also save x − mean and (x − mean)·scale. Local. Differentiable.
at::Tensor normalised(const at::Tensor& x, const Normalisation& by);

/// Σ (x − mean)² over the last dim, in at least fp32: (…, n) and (…, 1) → (…). Saves its operands alone.
/// Local. Differentiable.
at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean);

}  // namespace riesz::detail
