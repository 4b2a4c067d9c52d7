// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace riesz::detail {

/// The products of runs of rows, each with a weight of its own, in one buffer:
///
///     y[i] = x[i] Wᵢᵀ        x (R, in), Wᵢ (out, in), y (R, out)
///
/// The first rows[0] rows are run 0, the next rows[1] run 1, and so on. Differentiable any number of times;
/// it saves x and the weights. A run without rows gives its weight a gradient of zeros. Local.
/// @pre there is a weight for each run, all of one shape, and the rows are x's
at::Tensor grouped_product(const at::Tensor& x, const std::vector<at::Tensor>& weights,
                           const std::vector<std::int64_t>& rows);

}  // namespace riesz::detail
