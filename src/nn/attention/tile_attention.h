// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/random/dropout_draws.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// x·y of (B, heads, n, m) and (B, key heads, m, l), where query head a has key head a/(heads/key heads).
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& y);

/// Σ xᵀ·y over the query heads of each key head, of (B, heads, n, m) and (B, heads, n, l): (B, key heads, m,
/// l).
at::Tensor product_by_key_head(const at::Tensor& x, const at::Tensor& y, std::int64_t key_heads);

/// What acts on the scores of a tile, scale·q·kᵀ of (B, heads, rows, columns). Undefined tensors do nothing.
struct TileMask {
  double scale = 1;
  at::Tensor bias;      ///< added
  at::Tensor seen;      ///< false where a position is not seen
  at::Tensor keys;      ///< of (1 or B, 1, 1, columns): false where no row sees a column
  bool corner = false;  ///< row r sees the columns up to number r; beside that and `keys` nothing acts
  std::optional<DropoutDraws> draws;  ///< of the probabilities, if dropout drops some
};

/// `keys` as a term of the scores: zero or −∞. Nothing where it is undefined.
std::optional<at::Tensor> added_for(const at::Tensor& keys, const at::Tensor& q);

/// Booleans of (rows, columns): row r sees the columns up to number r.
at::Tensor lower_corner(const at::Tensor& q, const at::Tensor& k);

/// The tile's scores with the bias; −∞ where nothing is seen.
at::Tensor masked_scores(const at::Tensor& q, const at::Tensor& k, const TileMask& mask);

/// softmax(scores)·v of some columns, and the log-sum-exp of the scores, by which it is joined with other
/// columns'.
struct Attended {
  at::Tensor y;    ///< (B, heads, rows, d)
  at::Tensor lse;  ///< (B, heads, rows); −∞ where nothing is seen, and y is zero; NaN as y is
};

/// Attends in one tile. q is of (B, heads, rows, d), k and v of (B, key heads, columns, d), with at least one
/// row and column. heads/(key heads) neighbouring query heads share a key head. On a CPU, where only the
/// scale, a corner and `keys` act on them and all are finite, the scores are never made as a whole.
Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask);

/// Its kernels. The one of other devices than the CPU makes the scores, and adds in one order.
extern Dispatched<Attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const TileMask& mask)>
    attend_kernels;

/// Joins to some rows what they attend to in further columns, exactly:
/// y ← y·exp(lse − l) + y'·exp(lse' − l) with l = log(exp(lse) + exp(lse')).
void join(Attended& all, const Interval& rows, const Attended& more);

/// The gradients in a tile's q, k, v and bias.
struct TileGradients {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor bias;
};

/// What rows of q attend to in all columns, and its gradient.
struct RowGradients {
  at::Tensor y;
  at::Tensor lse;
  at::Tensor ybar;
  at::Tensor dot;  ///< Σ_d ȳ·y
};

/// The gradients of a tile. With p = exp(scores − lse), the final probabilities, since lse is over all
/// columns: v̄ = pᵀ·ȳ, s̄ = p·(ȳ·vᵀ − dot), q̄ = scale·s̄·k, k̄ = scale·s̄ᵀ·q (FlashAttention-2, 2307.08691).
TileGradients pull_back(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const RowGradients& rows, const TileMask& mask);

/// Its kernels, likewise.
extern Dispatched<TileGradients(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const RowGradients& rows, const TileMask& mask)>
    pull_back_kernels;

}  // namespace riesz::detail
