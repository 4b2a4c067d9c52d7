// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/attention/tile_attention.h"

namespace riesz::detail {

/// Can `attend_by_row_blocks` compute it? It takes fp32, bf16 and fp16 of a CPU, and a width that is a
/// multiple of 16.
bool takes_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask);

/// True if it is faster than LibTorch's kernel: fp32, at least 64 rows, and 64 to 1,024 columns (measured).
/// LibTorch is faster in bf16.
bool is_fast_by_row_blocks(const at::Tensor& q, const at::Tensor& k);

/// `attend` with all that a mask has, dropout too. A thread takes a key head's query heads, some rows at
/// once. It makes their scores, softmax and dropout in memory of its own, which stays in its cache. Columns
/// that a corner hides from all rows of a block are not computed. The bits depend on sizes and the processor
/// alone. Memory: at most 2·d + 33 floats a column for each thread; the gradients take 3·d + 65. The result
/// is in fp32.
/// @pre takes_row_blocks(q, k, v, mask)
Attended attend_by_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const TileMask& mask);

/// Its `pull_back`, which computes scores again and draws again. Without `rows.dot` the rows see no other
/// tile. It does not read `rows.y`. The bias's gradient, which is as large as the scores, is undefined where
/// there is no bias or it is not wanted. All are in fp32.
/// @pre as above
TileGradients pull_back_by_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const RowGradients& rows, const TileMask& mask, bool of_bias = true);

}  // namespace riesz::detail
