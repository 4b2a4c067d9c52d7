// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz {

/// May `sum_there` compute it? The device's library has the kernels, the type is fp64, fp32, bf16 or fp16,
/// and all are contiguous and of one shape.
bool has_sum_there(const std::vector<at::Tensor>& terms, const at::Tensor& y);

/// y ← the sum of `ordered_sum`, with the CPU's bits: up to 32 terms in one pass, from left to right. More
/// are halved, and the sums of runs are in memory meanwhile. y may be a term. @pre has_sum_there(terms, y)
void sum_there(const std::vector<at::Tensor>& terms, const at::Tensor& y);

}  // namespace riesz
