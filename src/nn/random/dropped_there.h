// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/random/dropout_draws.h"

namespace riesz::detail {

/// May `drop_there` compute it? The device's library has the kernels, the type is fp64, fp32, bf16 or fp16,
/// and the boxes are cut in few dims and pieces.
bool has_elements_to_drop_there(const at::Tensor& like, const DropoutDraws& draws);

/// y ← x times the mask, or the mask where x is undefined, in one pass with the CPU's bits. y may be x.
/// @pre has_elements_to_drop_there(y, draws); both are contiguous, of one type and of the boxes' volume
void drop_there(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y);

}  // namespace riesz::detail
