// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "riesz/nn/pointwise/formula.h"

namespace riesz::detail {

// By the kernels that a device's library has of the formula. nullopt if it has none, or if the inputs are of
// several types, do not lie dense, or are broadcast in other dims than the first.

/// `strips_of_value`.
std::optional<at::Tensor> value_there(const Formula& formula, const std::vector<at::Tensor>& inputs);

/// `strips_of_gradients`. The gradient of an input that is broadcast is summed by LibTorch, in at least fp32.
std::optional<std::vector<at::Tensor>> gradients_there(const Formula& formula,
                                                       const std::vector<at::Tensor>& inputs,
                                                       const at::Tensor& ybar,
                                                       const std::vector<bool>& wanted, bool reuse_ybar);

}  // namespace riesz::detail
