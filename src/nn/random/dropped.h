// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/random/dropout_draws.h"

namespace riesz::detail {

/// x·1/(1 − p) where an element is kept, and x·0 where it is dropped: x times `dropout_mask`, with its bits.
/// x is of the boxes' shape. On a CPU the mask is never made, and backward draws again: nothing is saved but
/// the draws' few numbers. Differentiable any number of times.
at::Tensor dropped(const at::Tensor& x, const DropoutDraws& draws);

/// One kernel for each type of device. A kernel that is not made of LibTorch's operators records its own
/// backward.
extern Dispatched<at::Tensor(const at::Tensor& x, const DropoutDraws& draws)> dropped_kernels;

}  // namespace riesz::detail
