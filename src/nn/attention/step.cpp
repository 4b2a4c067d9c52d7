// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/step.h"

#include "riesz/comm/sum/ordered_sum.h"

namespace riesz::detail {
namespace {

constexpr std::size_t kBatch = 0, kSequence = 1, kHeads = 2;

/// A mask of (T, S), (B, T, S) or (B, heads, T, S) as (1 or B, 1 or heads, 1 or T, S), a view.
at::Tensor by_probability(const at::Tensor& mask) {
  if (mask.dim() == 2) return mask.unsqueeze(0).unsqueeze(0);
  return mask.dim() == 3 ? mask.unsqueeze(1) : mask;
}

}  // namespace

AttentionStep::AttentionStep(const PreparedAttention& prepared, int step, const Visibility& visibility,
                             const at::Tensor& mask, const at::Tensor& seen)
    : prepared_(prepared), visibility_(visibility), mask_(mask), seen_(seen) {
  const Intervals& columns = prepared.columns[static_cast<std::size_t>(step)];
  tiles_ = detail::tiles(prepared.queries[kSequence], columns, visibility, mask.defined() || seen.defined());
}

at::Tensor AttentionStep::part(const at::Tensor& mask, const Tile& tile) {
  const auto narrowed = [](const at::Tensor& x, int dim, const Interval& part) {
    return part.size() == x.size(dim) ? x : x.narrow(dim, part.begin, part.size());
  };
  const at::Tensor all = by_probability(mask);
  const at::Tensor rows = all.size(2) == 1 ? all : narrowed(all, 2, tile.rows);
  return narrowed(rows, 3, tile.column_positions.front());
}

TileMask AttentionStep::mask(const Tile& tile, const at::Tensor& q, double scale, bool corners) const {
  TileMask acts{.scale = scale};
  acts.corner = corners && !tile.whole && tile.corner && !mask_.defined();
  if (!tile.whole && !acts.corner) {
    acts.seen = visibility_.mask(tile.row_positions, tile.column_positions, q.device());
  }
  if (seen_.defined()) acts.keys = part(seen_.unsqueeze(1).unsqueeze(1), tile);
  if (!mask_.defined()) return acts;
  const at::Tensor given = part(mask_, tile);
  if (given.scalar_type() != at::kBool) {
    const bool same = given.scalar_type() == q.scalar_type();
    acts.bias = same ? given : given.to(accumulation_type(q.scalar_type()));  // in bf16 it would be rounded
  } else {
    acts.seen = acts.seen.defined() ? given.logical_and(acts.seen) : given;
  }
  return acts;
}

DropoutDraws AttentionStep::draws(const Dropout& drop, const Tile& tile) const {
  const Boxes& queries = prepared_.queries;
  return drop.drawn(prepared_.probabilities,
                    {queries[kBatch], queries[kHeads], tile.row_positions, tile.column_positions});
}

}  // namespace riesz::detail
