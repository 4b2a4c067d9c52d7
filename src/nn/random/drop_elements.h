// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/random/dropout_draws.h"

namespace riesz::detail {

/// May `drop_elements` compute it? x is fp64, fp32, bf16 or fp16 on a CPU, not a lazy negation.
bool has_elements_to_drop(const at::Tensor& x);

/// y ← x·(factor where it is kept, else 0), which draws and multiplies in one pass, in torch's threads. The
/// factor is rounded to x's type, then the product. So the bits are those of x times the mask. y may be x.
/// @pre has_elements_to_drop(x); both are contiguous, of one type and of the boxes' volume
void drop_elements(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y);

}  // namespace riesz::detail
