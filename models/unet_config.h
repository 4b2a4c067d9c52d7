// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/images.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// A U-Net's sizes.
struct UnetConfig {
  std::int64_t levels = 3;  ///< resolutions: each has half the rows and columns of the one above
  std::int64_t width = 16;  ///< channels at the first level; each has twice those of the one above
  std::int64_t image = 64;  ///< rows and columns of an image, a multiple of 2^(levels − 1)
  std::int64_t channels = 1;
  std::int64_t labels = 2;              ///< of a pixel
  ContractionOptions contraction = {};  ///< of the head

  std::int64_t width_at(std::int64_t level) const { return width << level; }
  std::int64_t size_at(std::int64_t level) const { return image >> level; }

  /// Its letters: b batch, h rows and w columns, x channels of images, c and o channels between convolutions
  /// of a level, f inside of one, l labels.
  Roles roles() const {
    check_sizes(
        "U-Net",
        {{"levels", levels}, {"width", width}, {"image", image}, {"channels", channels}, {"labels", labels}});
    RIESZ_CHECK(levels <= 16 && image % (std::int64_t{1} << (levels - 1)) == 0, "U-Net: an image of ", image,
                " is no multiple of 2^(levels - 1) with ", levels, " levels, each of which halves it");
    return {{'b', {Role::batch}},
            {'h', {image_height_role(), image}},
            {'w', {image_width_role(), image}},
            {'x', {Role::whole, channels}},
            {'c', {Role::width, width}},
            {'o', {Role::width, width}},
            {'f', {Role::inner, width}},
            {'l', {Role::vocabulary, labels}}};
  }
};

}  // namespace riesz::models
