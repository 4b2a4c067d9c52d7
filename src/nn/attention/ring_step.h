// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/nn/attention/block_dropout.h"
#include "riesz/nn/attention/ring.h"
#include "riesz/nn/attention/tile.h"

namespace riesz {

/// The tiles of this worker's rows with what it has of K at one step of a ring, and what acts on them.
class RingStep {
 public:
  /// `mask` stands beside the probabilities of the rows and all columns, or is undefined.
  RingStep(const Ring& ring, int step, bool causal, const at::Tensor& mask);

  const std::vector<Tile>& tiles() const { return tiles_; }

  /// What acts on a tile's scores but dropout's factors, which `drops` says are to come. `q` says type and
  /// device.
  TileMask sight(const Tile& tile, const at::Tensor& q, double scale, bool drops) const;
  /// What a dropout of all probabilities makes of a tile's.
  BlockDropout dropped(const Dropout& drop, const Tile& tile, const at::Tensor& q) const;
  /// What of a mask, or of its gradient, is a tile's: (1 or B, 1 or heads, rows, columns), a view.
  static at::Tensor part(const at::Tensor& mask, const Tile& tile);

 private:
  at::Tensor mask_;
  Boxes queries_;
  std::vector<Tile> tiles_;
  std::vector<std::int64_t> probabilities_;  // (B, heads, T, S)
};

}  // namespace riesz
