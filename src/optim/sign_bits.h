// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// The signs of a flat tensor, 8 to a byte, the first in the lowest bit. A set bit is +1, and zero counts as
/// +1. A uint8 tensor of ⌈n/8⌉ elements, where x is; bits behind the last are 0.
at::Tensor pack_signs(const at::Tensor& x);

/// x ← x + scale·(the signs that pack_signs packed).
void add_signs(const at::Tensor& bytes, double scale, const at::Tensor& x);
/// The same for a scale in a tensor of one fp64 element, where x is.
void add_signs(const at::Tensor& bytes, const at::Tensor& scale, const at::Tensor& x);

}  // namespace riesz
