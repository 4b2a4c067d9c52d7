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

/// What a worker computes of its x for some outputs: one piece of each windowed dim.
using OfPieces = std::function<at::Tensor(const at::Tensor& x, const std::vector<Piece>& pieces)>;

/// A function of windows of x, from X to Y, without weights, such as a pooling. Dims without windows belong
/// together in their order. It is computed on Y's grid, as a convolution's plan has it, and x is read with
/// what a worker's outputs need. The x that was read is kept for backward, in place of x.
/// @throws Error on behalf of `whose` where extents do not fit.
LocalFunction windowed_function(const std::string& whose, const Space& X, const Space& Y,
                                const std::vector<WindowedDim>& dims, const OfPieces& f,
                                std::optional<at::ScalarType> result_type = std::nullopt);

/// The pieces' inputs along these dims, with their padding of `value`: a view of x where there is none.
at::Tensor padded_inputs(const at::Tensor& x, const std::vector<Piece>& pieces,
                         const std::vector<std::int64_t>& dims, double value);

/// Y with X's extents where Y has any extent, and with these in the dims of space.
/// @throws Error on behalf of `whose` where Y has another.
Space with_outputs(const std::string& whose, const Space& X, const Space& Y,
                   const std::vector<std::int64_t>& outputs);

}  // namespace riesz::detail
