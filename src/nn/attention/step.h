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

/// The tiles of one step of a ring, and what acts on their scores. A tile has rows of this worker and columns
/// of K that are here in that step. Without a ring there is one step.
class AttentionStep {
 public:
  /// `mask` broadcasts against the probabilities of the rows and all columns; `seen` is of (B, S), S whole.
  /// Both may be undefined.
  AttentionStep(const PreparedAttention& prepared, int step, const Visibility& visibility,
                const at::Tensor& mask, const at::Tensor& seen);

  const std::vector<Tile>& tiles() const { return tiles_; }

  /// All that acts on a tile's scores except dropout's factors. Where nothing else acts, a corner is marked
  /// as such, if `corners` says that the caller can compute one. `q` gives type and device.
  TileMask mask(const Tile& tile, const at::Tensor& q, double scale, bool corners) const;
  /// What dropout of all probabilities draws for this tile's.
  DropoutDraws draws(const Dropout& drop, const Tile& tile) const;
  /// A tile's part of a mask or of its gradient, a view of (1 or B, 1 or heads, 1 or rows, columns).
  static at::Tensor part(const at::Tensor& mask, const Tile& tile);

 private:
  const PreparedAttention& prepared_;
  Visibility visibility_;
  at::Tensor mask_;
  at::Tensor seen_;
  std::vector<Tile> tiles_;
};

}  // namespace riesz::detail
