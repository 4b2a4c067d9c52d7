// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/attention/tile_attention.h"

namespace riesz::detail {

/// softmax(scores)·v of a tile whose rows see no other tile, in q's type, by `attend_by_row_blocks`. It saves
/// its operands and a number for each row. Differentiable any number of times, also in the bias.
/// @pre takes_row_blocks(q, k, v, mask)
at::Tensor attend_alone(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask);

}  // namespace riesz::detail
