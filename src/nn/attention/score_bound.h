// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/attention/tile_attention.h"

namespace riesz::detail {

/// Are all scores of a tile finite, or −∞ by its bias? torch's fused kernel gives a row zeros, or other
/// finite numbers, where one of its scores is NaN or +∞. Tensors of a CPU. It bounds |q·k| by ‖q‖·‖k‖, so it
/// is also false where scores are merely near the largest number of their type. Cost: one pass over q, k and
/// the bias.
bool surely_finite(const at::Tensor& q, const at::Tensor& k, const TileMask& mask);

}  // namespace riesz::detail
