// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/nn/contraction/plan.h"
#include "riesz/partition/space.h"

namespace riesz::models {

/// minGPT's sizes.
struct MinGptConfig {
  std::int64_t layers = 3;
  std::int64_t heads = 3;
  std::int64_t width = 48;  ///< C; a multiple of heads
  std::int64_t hidden = 0;  ///< of the MLP; 0: 4C
  std::int64_t vocabulary = 10;
  std::int64_t context = 6;  ///< the longest sequence
  double dropout = 0.1;
  bool tied = false;                    ///< is the output layer's weight the token table?
  ContractionOptions contraction = {};  ///< of all linear layers
};

/// Where minGPT's vectors and weights lie: all that a layout is. Batch B and sequence T are of any extent.
struct MinGptSpaces {
  Space tokens;          ///< (B, T): ids
  Space targets;         ///< (B, T): what the logits are compared with
  Space stream;          ///< (B, T, C): the residual stream
  Space qkv;             ///< (3, B, T, heads, C/heads): queries, keys and values, as projected
  Space attending;       ///< the same shape: where attention is computed
  Space heads;           ///< (B, T, heads, C/heads): its result, as projected back
  Space hidden;          ///< (B, T, hidden)
  Space logits;          ///< (B, T, V)
  Space token_table;     ///< (V, C)
  Space position_table;  ///< (context, C)
  Space qkv_weight;      ///< (C, 3, heads, C/heads)
  Space heads_weight;    ///< (heads, C/heads, C)
  Space up_weight;       ///< (C, hidden)
  Space down_weight;     ///< (hidden, C)
  Space logits_weight;   ///< (V, C), unless it is the token table
};

namespace spaces {

/// How the sequence lies over the axis "sp" of the grid: whole, if it has none; in zigzag, so that keys and
/// values go round a ring (Liu et al., 2310.01889) with even work; or in runs, with attention on whole
/// sequences of some of the heads (DeepSpeed-Ulysses, 2309.14509), unevenly where the axis does not divide
/// them.
enum class Sequence { whole, ring, ulysses };

/// The layouts. Each shards the batch over "dp", takes the axes it names of the grid, and "sp" if `sequence`
/// is not whole; sizes that do not divide are sharded unevenly, also into empty shards. An axis that the grid
/// lacks counts as one worker.
/// @throws Error naming the axis that the layout does not know, or if "sp" is there and the sequence whole;
/// unless the width is a multiple of the heads and all sizes are at least 1.

/// Axis "tp": heads, the MLP's hidden width and the vocabulary (Megatron-LM, 1909.08053).
MinGptSpaces one_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence = Sequence::whole);

/// The same, with the sequence sharded over "tp" in the residual stream (Korthikanti et al., 2205.05198).
MinGptSpaces sequence_parallel(const Partition& mesh, const MinGptConfig& config,
                               Sequence sequence = Sequence::whole);

/// Axes "row" and "column": the batch over rows, every width over columns, a weight over both (Optimus,
/// 2104.05343).
MinGptSpaces two_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence = Sequence::whole);

/// The same on each layer of the axis "depth", over which the batch is sharded too (Tesseract, 2105.14500).
MinGptSpaces two_and_half_d(const Partition& mesh, const MinGptConfig& config,
                            Sequence sequence = Sequence::whole);

/// Axes "a", "b" and "c": batch over a and c with widths over b, or over a and b with widths over c, in
/// turns; weights over all three (Agarwal et al. 1995; Colossal-AI, 2105.14450).
MinGptSpaces three_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence = Sequence::whole);

/// The layout of a configuration's words: tensor of "1d", "sp", "2d", "2.5d" or "3d"; sequence of "none",
/// "ring" or "ulysses". @throws Error naming a word that is none of them.
MinGptSpaces named(const std::string& tensor, const std::string& sequence, const Partition& mesh,
                   const MinGptConfig& config);

/// one_d with the sequence so.
MinGptSpaces ring(const Partition& mesh, const MinGptConfig& config);
MinGptSpaces ulysses(const Partition& mesh, const MinGptConfig& config);

}  // namespace spaces

/// A line for each space, its dims with the axes of several workers that shard them, such as
/// "stream  B/dp  T/sp (zigzag)/tp  C".
std::string to_string(const MinGptSpaces& spaces);

}  // namespace riesz::models
