// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/train/loop/learner.h"
#include "riesz/train/loop/tiles.h"

namespace riesz {

/// A worker's share of what a model predicts of a tile: the logits of the pixels (height, width, labels), or
/// a field's numbers (channels, height, width).
struct PredictedTile {
  std::int64_t row = 0;
  Interval channels;  ///< of a field
  Box place;          ///< rows and columns of the image
  at::Tensor values;
};

/// Predicts tiles of images or fields, `at_once` of them in a call. Their windows are the rows of its batch:
/// so they lie as the layout places images, some on each worker, or a part of each. `read` gives a box of
/// all images, (rows, channels, height, width): each worker reads what it holds of a window. `take` is given
/// what it holds of a tile. So a worker's memory is bounded by that of a call. Labels of a pixel are whole.
/// Collective over the model's workers. @pre windows have the extents of the model's images
void predict_tiles(const Learner& model, const std::vector<Tile>& tiles, std::int64_t at_once,
                   const std::function<at::Tensor(const Box& box)>& read,
                   const std::function<void(const PredictedTile& part)>& take);

}  // namespace riesz
