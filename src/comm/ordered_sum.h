// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz {

/// Σ terms in their order, which callers make the rank order, so that a sum depends neither on an MPI
/// library's algorithm nor on buckets, and replicas agree bit for bit. bf16 and fp16 are added in fp32 and
/// rounded once. Up to 32 terms from left to right; more by one fixed binary tree, whatever their size. At
/// least one term; a single one is returned as it is.
at::Tensor ordered_sum(const std::vector<at::Tensor>& terms);

/// What sums of elements of this type are added in: fp32 for bf16 and fp16, else the type itself.
at::ScalarType accumulation_type(at::ScalarType type);

}  // namespace riesz
