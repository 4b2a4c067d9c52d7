// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/dropout.h"

namespace riesz {

/// Causal self-attention, softmax(q·kᵀ/√d + mask)·v per sequence and head (Vaswani et al., 1706.03762): the projections
/// in a space of (3, B, T, heads, d), q, k and v along the first dim → (B, T, heads, d), with `drop` on the softmax.
/// Point-wise in batch and heads, so it moves nothing and those may be sharded by any axes, unevenly, also into empty
/// shards. @throws Error naming space and axis if the sequence or the head width is sharded, or a dim is Partial.
Vector causal_attention(const Vector& qkv, const Dropout& drop);

}  // namespace riesz
