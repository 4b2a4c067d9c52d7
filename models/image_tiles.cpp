// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/image_tiles.h"

#include <algorithm>
#include <variant>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// Elements beyond an interval that a level's result depends on, in those that the level is given: by its two
/// convolutions with kernels of 3, the levels below it, and the two that join them to it. (`narrow` has a
/// kernel of 1.)
std::int64_t halo_below(const UnetConfig& config, std::int64_t level, std::int64_t halo) {
  constexpr std::int64_t kDown = 2, kUp = 2;  // convolutions that widen by one element each
  if (level + 1 == config.levels) return halo + kDown;
  const std::int64_t read = halo + kUp;
  return std::max(read, 2 * halo_below(config, level + 1, (read + 1) / 2)) + kDown;
}

}  // namespace

std::optional<Reach> reach_of(const ImageConfig& config) {
  const auto* const unet = std::get_if<UnetConfig>(&config);
  if (unet == nullptr) return std::nullopt;
  const std::int64_t unit = std::int64_t{1} << (unet->levels - 1);
  return Reach{rounded_up(halo_below(*unet, 0, 0), unit), unit};
}

ImageConfig of_size(ImageConfig config, std::int64_t rows) {
  if (auto* const unet = std::get_if<UnetConfig>(&config)) {
    unet->image = rows;
  } else if (auto* const operator_of_fields = std::get_if<FourierNeuralOperatorConfig>(&config)) {
    operator_of_fields->size = rows;
  } else {
    RIESZ_CHECK(rows == image_size(config), "a \"", kind_of(config), "\" of images of ", image_size(config),
                " sees none of ", rows);
  }
  return config;
}

}  // namespace riesz::models
