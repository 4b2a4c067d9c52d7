// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/ring.h"

#include <utility>

#include "riesz/nn/attention/tile.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/moves.h"

namespace riesz::detail {
namespace {

constexpr std::size_t kSequence = 2;  // of K and V packed

}  // namespace

Ring::Ring(Space Q, Space KV, const std::string& axis) : Q_(std::move(Q)) {
  const int p = KV.partition().extent(axis);
  for (int step = 0; step < p; ++step) at_.push_back(step == 0 ? KV : rotated(KV, axis, step));
  at_.push_back(KV);
  for (int step = 0; step < p; ++step) {
    hops_.push_back(between(at(step), at(step + 1)));
    gradient_hops_.push_back(between(dual(at(step)), dual(at(step + 1))));
  }
}

std::int64_t Ring::half_scores(int rank, bool causal) const {
  std::int64_t sum = 0;
  for (int step = 0; step < steps(); ++step) {
    for (const Tile& tile :
         tiles(Q_.boxes(rank)[1], at(step).boxes(rank)[kSequence], {.causal = causal}, false)) {
      sum += (tile.whole ? 2 : 1) * tile.rows.size() * tile.columns.size();
    }
  }
  return sum;
}

}  // namespace riesz::detail
