// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/local.h"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/attention/attend_alone.h"
#include "riesz/nn/attention/row_attention.h"
#include "riesz/nn/attention/row_blocks.h"
#include "riesz/nn/attention/score_bound.h"
#include "riesz/nn/attention/step.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {
namespace {

/// The probabilities are made as a whole: their dropout's mask is a function of their global indices, and a
/// mask may have a gradient.
at::Tensor attend_openly(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const TileMask& mask) {
  const at::Tensor weights = at::_safe_softmax(masked_scores(q, k, mask), -1);
  return grouped_product(mask.draws ? dropped(weights, *mask.draws) : weights, v);
}

/// What is seen, by the masks of each position and of all, as booleans; undefined where all is.
at::Tensor seen_of(const TileMask& mask) {
  if (!mask.seen.defined() || !mask.keys.defined()) return mask.seen.defined() ? mask.seen : mask.keys;
  return mask.seen.logical_and(mask.keys);
}

/// By torch's own function, which takes a corner and `keys` not together.
at::Tensor attend_fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask) {
  const at::Tensor seen = seen_of(mask);
  std::optional<at::Tensor> acts;
  if (mask.bias.defined() && seen.defined()) {
    acts = mask.bias.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  } else if (mask.bias.defined() || seen.defined()) {
    acts = mask.bias.defined() ? mask.bias : seen;
  }
  return at::scaled_dot_product_attention(q, k, v, acts, 0.0, mask.corner, mask.scale,
                                          q.size(1) != k.size(1));
}

/// Nothing where the scores must be made: torch's kernels for the CPU need them to be finite.
std::optional<at::Tensor> fused_in_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const TileMask& mask) {
  if (!surely_finite(q, k, mask)) return std::nullopt;
  if (!mask.corner || !mask.keys.defined()) return attend_fused(q, k, v, mask);
  const auto in_rows = [](const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); };
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      in_rows(q), in_rows(k), in_rows(v), 0, true, added_for(mask.keys, q), mask.scale));
}

/// torch's kernels for other devices want what is added in q's type.
std::optional<at::Tensor> fused_elsewhere(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const TileMask& mask) {
  if (mask.bias.defined() && mask.bias.scalar_type() != q.scalar_type()) return std::nullopt;
  TileMask acts = mask;
  if (mask.corner && mask.keys.defined()) {
    acts.seen = lower_corner(q, k);
    acts.corner = false;
  }
  return attend_fused(q, k, v, acts);
}

const Dispatched<std::optional<at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                           const TileMask&)>
    fused_attention{fused_in_memory, fused_elsewhere};

/// A tile whose rows see no other. `learned`: the mask has a gradient.
at::Tensor attend_tile(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask,
                       bool learned) {
  const bool open = learned || mask.draws;
  if (takes_row_blocks(q, k, v, mask) && (open || is_fast_by_row_blocks(q, k)))
    return attend_alone(q, k, v, mask);
  if (!open && q.numel() > 0 && k.numel() > 0) {
    if (const auto y = fused_attention(q.device(), q, k, v, mask)) return *y;
  }
  const auto wide = [](const at::Tensor& x) { return to_accumulation_type(x); };
  return attend_openly(wide(q), wide(k), wide(v), mask).to(q.scalar_type());
}

/// One tile for all rows one after another: those that see nothing have no columns.
std::vector<Tile> covering(const std::vector<Tile>& seen, std::int64_t rows) {
  std::vector<Tile> all;
  std::int64_t row = 0;
  const auto blind_up_to = [&](std::int64_t end) {
    if (end > row || (rows == 0 && all.empty())) all.push_back({{row, end}, {0, 0}, {}, {}});
    row = end;
  };
  for (const Tile& tile : seen) {
    blind_up_to(tile.rows.begin);
    all.push_back(tile);
    row = tile.rows.end;
  }
  blind_up_to(rows);
  return all;
}

/// Is it one position, as when a token is written, that sees all of its tile?
bool is_one_row(const std::vector<Tile>& tiles, const LocalOperands& operands) {
  return tiles.size() == 1 && tiles.front().whole && tiles.front().columns.size() > 0 &&
         !operands.mask.defined() && !operands.seen.defined() &&
         is_row_attention(operands.q, operands.k, operands.v);
}

at::Tensor of_one_row(const PreparedAttention& prepared, const Interval& columns,
                      const LocalOperands& operands, double scale) {
  const auto narrowed = [&](const at::Tensor& x) {
    return columns.size() == x.size(1) ? x : x.narrow(1, columns.begin, columns.size());
  };
  return row_attention(operands.q, narrowed(operands.k), narrowed(operands.v), prepared.key_heads, scale);
}

}  // namespace

at::Tensor local_attention(const PreparedAttention& prepared, const LocalOperands& operands,
                           const Visibility& visibility, double scale, const Dropout* dropout) {
  const AttentionStep step(prepared, 0, visibility, operands.mask, operands.seen);
  const std::vector<Tile> tiles = covering(step.tiles(), operands.q.size(1));
  if (dropout == nullptr && is_one_row(tiles, operands))
    return of_one_row(prepared, tiles.front().columns, operands, scale);
  const auto by_head = [](const at::Tensor& x) { return x.transpose(1, 2); };
  const auto narrowed = [](const at::Tensor& x, const Interval& part) {
    return part.size() == x.size(2) ? x : x.narrow(2, part.begin, part.size());
  };
  const at::Tensor q = by_head(operands.q);
  const at::Tensor k = by_head(prepared.key_heads.used(operands.k, 2));
  const at::Tensor v = by_head(prepared.key_heads.used(operands.v, 2));
  const bool learned = operands.mask.defined() && operands.mask.requires_grad();
  std::vector<at::Tensor> pieces;
  for (const Tile& tile : tiles) {
    const bool sees = tile.columns.size() > 0;
    TileMask mask = sees ? step.mask(tile, q, scale, true) : TileMask{};
    if (dropout != nullptr && sees && q.numel() > 0) mask.draws = step.draws(*dropout, tile);
    pieces.push_back(attend_tile(narrowed(q, tile.rows), narrowed(k, tile.columns), narrowed(v, tile.columns),
                                 mask, learned));
  }
  return by_head(pieces.size() == 1 ? pieces.front() : at::cat(pieces, 2));
}

}  // namespace riesz::detail
