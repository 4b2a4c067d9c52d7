// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A part of the scores q·kᵀ that is computed as one: rows of q and columns of k, local to who holds them,
/// and where they are globally.
struct Tile {
  Interval rows;
  Interval columns;
  Intervals row_positions;
  Intervals column_positions;
  bool whole = true;  ///< causality hides nothing of it
};

/// The tiles of who has q's positions `rows` and k's `columns`. Causal: one for an interval of each, without
/// those that are hidden wholly. Else one in all, or, `apart`, one for an interval of each as well.
std::vector<Tile> tiles(const Intervals& rows, const Intervals& columns, bool causal, bool apart);

/// Where a column comes after a row: what causality hides, as (rows, columns) on a device.
at::Tensor causal_mask(const Intervals& rows, const Intervals& columns, at::Device device);

/// A mask of (T, S), (B, T, S) or (B, heads, T, S) as (1 or B, 1 or heads, T, S), a view.
at::Tensor by_probability(const at::Tensor& mask);

/// x·y of (B, heads, n, m) and (B, key heads, m, l), where query head a has key head a/(heads/key heads).
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& y);

/// What acts on the scores of a tile, scale·q·kᵀ of (B, heads, rows, columns), beside the scale; undefined:
/// nothing.
struct TileMask {
  double scale = 1;
  at::Tensor bias;    ///< added
  at::Tensor hidden;  ///< true where a position is not seen
  at::Tensor kept;    ///< what dropout multiplies probabilities by
  /// Causality hides columns after rows that have the same positions, and nothing else acts on the scores.
  bool square = false;
};

/// softmax(scores)·v of some columns, and the logarithm of Σ exp(scores) by which it joins others'.
struct Attended {
  at::Tensor y;    ///< (B, heads, rows, d)
  at::Tensor lse;  ///< (B, heads, rows); −∞ where nothing is seen, and y is zero
};

/// One tile's, of q of (B, heads, rows, d), k and v of (B, key heads, columns, d), a row or more of each;
/// heads/(key heads) query heads one after another share a key head. On a CPU, where nothing but the scale
/// and a square's causality acts on them, the scores are never made as a whole.
Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& sight);

/// Joins to some rows what they attend to in further columns, exactly:
/// y ← y·exp(lse − l) + y'·exp(lse' − l) with l = log(exp(lse) + exp(lse')).
void join(Attended& all, const Interval& rows, const Attended& more);

/// The gradients by a tile's q, k, v and bias.
struct TileGradients {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor bias;
};

/// Rows of q: what they attend to in all columns, and its gradient.
struct RowGradients {
  at::Tensor y;
  at::Tensor lse;
  at::Tensor ybar;
  at::Tensor dot;  ///< Σ_d ȳ·y
};

/// With p = exp(scores − lse), the final probabilities, as lse is of all columns:
/// v̄ = pᵀ·ȳ, s̄ = p·(ȳ·vᵀ − dot), q̄ = scale·s̄·k, k̄ = scale·s̄ᵀ·q (FlashAttention-2, 2307.08691).
TileGradients pull_back(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const RowGradients& rows, const TileMask& sight);

}  // namespace riesz
