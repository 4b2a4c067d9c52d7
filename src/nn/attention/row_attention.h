// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/attention/key_heads.h"

namespace riesz::detail {

/// Can `row_attention` compute it? It takes one position of q in (B, 1, heads, d) and some of k and v in (B,
/// S, key heads, d), in fp32 on a CPU with one thread. The width d is a multiple of 16, and no gradient is
/// recorded.
bool is_row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// softmax(scale·q·kᵀ)·v of one position that sees all of S, such as a new token with a cache. All heads go
/// through keys and values together, once, as they lie in memory; nothing is copied where heads share them.
/// The bits depend on sizes and the processor alone. Cost: 4·B·heads·S·d operations and B·heads·S
/// exponentials; room for S weights a head.
/// @pre is_row_attention(q, k, v)
at::Tensor row_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const KeyHeads& key_heads, double scale);

}  // namespace riesz::detail
