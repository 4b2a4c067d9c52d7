// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// This worker's part of a vector of X whose element of global row-major index i is a standard normal draw of
/// (key, i): Box-Muller on Philox words, in fp64, on the CPU. The same bits for an index at every layout.
at::Tensor normal(const Space& X, std::uint64_t key);

/// Likewise of draws between 0 and 1, neither of which they are: (w + 1/2)/2³² of the Philox word w of (key,
/// i).
at::Tensor uniform(const Space& X, std::uint64_t key);

/// This worker's part of a vector of X with 1/(1 − p) where the element of global index i is kept and 0 where
/// it is dropped, which (key, step, i) decide: dropped with probability p by an integer threshold, the same
/// at every layout.
at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options);

/// The same of any boxes of a global shape, in their local order: what a block of a vector has that no space
/// holds whole, such as the attention probabilities of one worker's rows and another's columns.
at::Tensor dropout_mask(const std::vector<std::int64_t>& shape, const Boxes& boxes, std::uint64_t key,
                        std::uint64_t step, double p, const at::TensorOptions& options);

}  // namespace riesz
