// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/local/local_function.h"
#include "riesz/nn/spatial/windowed_plan.h"

namespace riesz::detail {

/// What a worker computes of its x for some outputs: one slab of each windowed dim.
using OfSlabs = std::function<at::Tensor(const at::Tensor& x, const std::vector<Slab>& slabs)>;

/// A function of windows of x, from X to Y, without weights, such as a pooling. Dims that are not windowed
/// correspond one to one. Computed on Y's partition. Backward keeps the x that was read, halo included.
/// @throws Error beginning with `whose` where extents do not fit.
LocalFunction windowed_function(const std::string& whose, const Space& X, const Space& Y,
                                const std::vector<WindowedDim>& dims, const OfSlabs& f,
                                std::optional<at::ScalarType> result_type = std::nullopt);

/// The inputs of a slab of each spatial dim, with their padding of `value`: a view of x where there is none.
at::Tensor padded_inputs(const at::Tensor& x, const std::vector<Slab>& slabs, double value);

}  // namespace riesz::detail
