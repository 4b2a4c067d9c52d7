// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

/// The channels and the size of a model's images, which are square, and how an image is resized to them.
struct ImageForm {
  std::int64_t channels = 1;  ///< 1: grey; 3: red, green and blue
  std::int64_t size = 28;     ///< rows, and columns
  std::int64_t resized = 0;   ///< pixels to which an image is resized before the center crop; 0: size
  bool stretched = false;  ///< resizes both sides to that; else the shorter one, and the other in proportion
  bool bicubic = false;    ///< the interpolation; else bilinear
};

/// uint8 (n, 1 or 3, height, width) → (n, channels, size, size), in this order:
///
/// 1. channels: grey by 0.299 R + 0.587 G + 0.114 B, or grey repeated three times;
/// 2. resizing with antialias, horizontally, rounded to uint8, then vertically, as Pillow;
/// 3. center crop of each side that is longer than the size.
///
/// An image that has the form already is not copied. Local. @throws Error unless images and form have 1 or 3
/// channels; or where an image would become one of more than 2^28 pixels on the way. @pre resized is 0, or
/// size or more
at::Tensor to_form(const at::Tensor& images, const ImageForm& form);

}  // namespace riesz
