// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::detail {

/// Sums a value that each worker has for its part of S, given as a tensor of one `shape` on all of them.
/// Shares are added over the axes that shard S; replicas count once. The result is Replicated on every axis.
/// It is a constant if `constant` is true: if the shares are computed from constants alone.
/// Cost: an AllReduce of the shape over the axes that shard S; backward moves nothing. Collective over those
/// axes.
Vector add_shares(const Space& S, const std::vector<std::int64_t>& shape, const at::Tensor& share,
                  bool constant = false);

/// @throws Error naming `what`, the space and the axis or dim where an element would count more than once.
/// That is so if S is Partial or Copied on an axis, or a split overlaps.
void check_counts_once(std::string_view what, const Space& S);

}  // namespace riesz::detail
