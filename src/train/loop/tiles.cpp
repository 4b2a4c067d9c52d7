// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/tiles.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz {

TiledDim tiled(std::int64_t extent, std::int64_t window, std::int64_t halo, std::int64_t unit) {
  RIESZ_CHECK(extent % unit == 0 && window % unit == 0, "windows of ", window, " in ", extent,
              " rows or columns: both must be multiples of ", unit,
              ", since the model halves them; cut the field, or fill it up");
  RIESZ_CHECK(window == extent || (window < extent && window > 2 * halo), "windows of ", window, " in ",
              extent, " rows or columns: a window must have more than two halos of ", halo,
              ", or be the whole; take larger tiles");
  const std::int64_t tile = window == extent ? extent : window - 2 * halo;
  TiledDim dim;
  for (std::int64_t begin = 0; begin < extent; begin += tile) {
    dim.tiles.push_back({begin, std::min(extent, begin + tile)});
    const std::int64_t from = std::clamp<std::int64_t>(begin - halo, 0, extent - window);
    dim.windows.push_back({from, from + window});
  }
  return dim;
}

std::vector<Tile> tiles_of(std::int64_t images, const TiledDim& height, const TiledDim& width) {
  std::vector<Tile> all;
  for (std::int64_t row = 0; row < images; ++row)
    for (std::size_t i = 0; i < height.tiles.size(); ++i)
      for (std::size_t j = 0; j < width.tiles.size(); ++j)
        all.push_back({row, {height.tiles[i], width.tiles[j]}, {height.windows[i], width.windows[j]}});
  return all;
}

}  // namespace riesz
