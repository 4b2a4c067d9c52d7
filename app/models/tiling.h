// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/models/image_model.h"
#include "riesz/train/loop/tiles.h"

namespace riesz::app {

/// How a model predicts images of some size: by the model for windows, and the tiles of them.
struct Tiling {
  models::ImageConfig model;  ///< of images as large as a window
  std::int64_t window = 0;    ///< rows and columns
  std::int64_t halo = 0;
  TiledDim height, width;

  std::int64_t tiles_of_an_image() const {
    return static_cast<std::int64_t>(height.tiles.size() * width.tiles.size());
  }
};

/// In tiles of about `tile` rows and columns; 0: as large as fit into the image. Local.
/// @throws Error where the model labels whole images; where the image must be cut and the model's prediction
/// of a point depends on all of it; or as `tiled`.
Tiling tiling_of(const models::ImageConfig& model, std::int64_t height, std::int64_t width,
                 std::int64_t tile);

}  // namespace riesz::app
