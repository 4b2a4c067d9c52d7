// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/partition/space.h"

namespace riesz::models {

/// minGPT's sizes.
struct MinGptConfig {
  std::int64_t layers = 3;
  std::int64_t heads = 3;
  std::int64_t width = 48;  ///< C; a multiple of heads
  std::int64_t vocabulary = 10;
  std::int64_t context = 6;  ///< the longest sequence
  double dropout = 0.1;
};

/// Where minGPT's vectors lie: all that a layout is. Batch B and sequence T are of any extent.
struct MinGptSpaces {
  Space tokens;          ///< (B, T): ids and targets
  Space stream;          ///< (B, T, C): the residual stream
  Space qkv;             ///< (3, B, T, heads, C/heads): queries, keys and values
  Space heads;           ///< (B, T, heads, C/heads)
  Space hidden;          ///< (B, T, 4C)
  Space logits;          ///< (B, T, V)
  Space token_table;     ///< (V, C)
  Space position_table;  ///< (context, C)
};

namespace spaces {

/// Data and one-dimensional tensor parallelism on a grid with the axes "dp" and "tp" (Megatron-LM, 1909.08053): the
/// batch over dp; heads, the MLP's hidden width and the vocabulary over tp, unevenly, also into empty shards. Data
/// parallel alone is tp = 1, one worker is dp = tp = 1.
/// @throws Error unless the width is a multiple of the heads and all sizes are at least 1.
MinGptSpaces one_d(const Partition& mesh, const MinGptConfig& config);

}  // namespace spaces
}  // namespace riesz::models
