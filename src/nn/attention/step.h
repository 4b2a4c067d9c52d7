// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/tile.h"
#include "riesz/nn/attention/tile_attention.h"
#include "riesz/nn/layers/dropout.h"

namespace riesz::detail {

/// The tiles of this worker's rows with what it has of K at one step of a ring, or all along where there is
/// no ring, and what acts on them.
class AttentionStep {
 public:
  /// `mask` stands beside the probabilities of the rows and all columns, `seen` is of (B, S), S whole; or
  /// they are undefined.
  AttentionStep(const PreparedAttention& prepared, int step, const Visibility& visibility,
                const at::Tensor& mask, const at::Tensor& seen);

  const std::vector<Tile>& tiles() const { return tiles_; }

  /// What acts on a tile's scores but dropout's factors. Where nothing else does, a corner is said as such,
  /// if `corners` says that who computes it understands. `q` says type and device.
  TileMask mask(const Tile& tile, const at::Tensor& q, double scale, bool corners) const;
  /// What a dropout of all probabilities multiplies a tile's by.
  at::Tensor factors(const Dropout& drop, const Tile& tile, const at::Tensor& q) const;
  /// What of a mask, or of its gradient, is a tile's: (1 or B, 1 or heads, 1 or rows, columns), a view.
  static at::Tensor part(const at::Tensor& mask, const Tile& tile);

 private:
  const PreparedAttention& prepared_;
  Visibility visibility_;
  at::Tensor mask_;
  at::Tensor seen_;
  std::vector<Tile> tiles_;
};

}  // namespace riesz::detail
