// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/ring_step.h"

namespace riesz {
namespace {

constexpr std::size_t kSequence = 2;  // of K and V packed

}  // namespace

RingStep::RingStep(const Ring& ring, int step, bool causal, const at::Tensor& mask) : mask_(mask) {
  const Space& Q = ring.queries();
  const Space& KV = ring.at(step);
  const int rank = Q.partition().rank();
  queries_ = Q.boxes(rank);
  tiles_ = riesz::tiles(queries_[1], KV.boxes(rank)[kSequence], causal, mask.defined());
  probabilities_ = {Q.shape()[0], Q.shape()[2], Q.shape()[1], KV.shape()[kSequence]};
}

at::Tensor RingStep::part(const at::Tensor& mask, const Tile& tile) {
  const Interval& columns = tile.column_positions.front();
  return by_probability(mask)
      .narrow(2, tile.rows.begin, tile.rows.size())
      .narrow(3, columns.begin, columns.size());
}

TileMask RingStep::sight(const Tile& tile, const at::Tensor& q, double scale, bool drops) const {
  TileMask sight{.scale = scale};
  const bool alone = !mask_.defined() && !drops && q.is_cpu();
  sight.square = !tile.whole && alone && tile.row_positions == tile.column_positions;
  if (!tile.whole && !sight.square) {
    sight.hidden = causal_mask(tile.row_positions, tile.column_positions, q.device());
  }
  if (!mask_.defined()) return sight;
  if (mask_.scalar_type() != at::kBool) {
    sight.bias = part(mask_, tile).to(q.scalar_type());
  } else {
    const at::Tensor unseen = part(mask_, tile).logical_not();
    sight.hidden = sight.hidden.defined() ? unseen.logical_or(sight.hidden) : unseen;
  }
  return sight;
}

BlockDropout RingStep::dropped(const Dropout& drop, const Tile& tile, const at::Tensor& q) const {
  return {drop,
          probabilities_,
          {queries_[0], queries_[2], tile.row_positions, tile.column_positions},
          q.options()};
}

}  // namespace riesz
