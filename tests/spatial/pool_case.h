// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/upsample.h"

namespace riesz::testing {

// torch's functions of global tensors, of 1 to 3 spatial dims: values and indices of the poolings that have
// them.
std::tuple<at::Tensor, at::Tensor> torch_max(const at::Tensor& x, const PoolWindows& windows);
std::tuple<at::Tensor, at::Tensor> torch_adaptive_max(const at::Tensor& x,
                                                      const std::vector<std::int64_t>& sizes);
at::Tensor torch_upsample(const at::Tensor& x, const std::vector<std::int64_t>& sizes, Sampling by);

/// A pooling, an up-sampling or a padding is torch's on one worker, value and gradient, wherever x and y lie:
/// which one, and how, by a seed, alike on all workers.
void expect_pool(std::uint64_t seed);

}  // namespace riesz::testing
