// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/tiling.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/models/image_tiles.h"

namespace riesz::app {

Tiling tiling_of(const models::ImageConfig& model, std::int64_t height, std::int64_t width,
                 std::int64_t tile) {
  const std::string kind = concat("a \"", models::kind_of(model), "\"");
  RIESZ_CHECK(models::predicted_by(model) != Predicted::labels, kind,
              " labels whole images; riesz classify prints their labels");
  const std::int64_t side = std::min(height, width);
  const std::optional<models::Reach> reach = models::reach_of(model);
  RIESZ_CHECK(
      reach || (height == width && (tile == 0 || tile >= side)), kind,
      " transforms the whole field, so a tile cannot be predicted by itself, and the field must have as "
      "many rows as columns; it has ",
      height, " x ", width, tile > 0 ? "; leave --tile out" : "");
  const std::int64_t halo = reach ? reach->halo : 0, unit = reach ? reach->unit : 1;
  RIESZ_CHECK(
      height == width || side > 2 * halo, "an image of ", height, " x ", width,
      " is predicted in squares of at most its shorter side, and they must have more than two halos of ",
      halo, "; give images of more than ", 2 * halo, " rows and columns");
  const std::int64_t rounded = (tile + unit - 1) / unit * unit;
  const std::int64_t window = tile == 0 ? side : std::min(side, rounded + 2 * halo);
  return {models::of_size(model, window), window, halo, tiled(height, window, halo, unit),
          tiled(width, window, halo, unit)};
}

}  // namespace riesz::app
