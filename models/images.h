// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What models of images share: the roles of the spatial dims, and the spaces of images.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/layout/model_spaces.h"
#include "riesz/nn/random/initial.h"

namespace riesz::models {

/// The roles of an image's rows and columns, "image height" and "image width". Every layout shards them over
/// the grid's axes "height" and "width", where it has them.
const Role& image_height_role();
const Role& image_width_role();

/// The letters of x and of y in a spec such as "bchw,ocrs->bohw".
std::string letters_of_x(const std::string& spec);
std::string letters_of_y(const std::string& spec);

/// The space of images of these letters: a batch of any extent, so many channels, and `size` rows and
/// columns.
Space images_in(const ModelSpaces& spaces, const std::string& letters, std::int64_t channels,
                std::int64_t size);

/// The space of the weight of a convolution of this spec: its channels as the layout places them, its
/// kernel's rows and columns whole. The shape is (channels out, channels in, rows, columns).
Space kernels_in(const ModelSpaces& spaces, const std::string& spec, const std::vector<std::int64_t>& shape);

/// One of a model's square convolutions, with kernel/2 of padding.
struct ConvSizes {
  std::string spec;         ///< in the model's letters: batch, channels, rows, columns
  std::int64_t in, out;     ///< channels
  std::int64_t size;        ///< rows and columns of x
  std::int64_t kernel = 3;  ///< rows and columns of the kernel, an odd number
  std::int64_t stride = 1;
  std::string activation = "";  ///< of what comes after its norm; "" none

  /// Rows and columns of y.
  std::int64_t y_size() const { return (size - 1) / stride + 1; }
  /// The weight's first values: normal, of variance 2/(outputs that an input reaches) (He et al.,
  /// 1502.01852).
  Initial initial() const { return Initial::kaiming_normal(static_cast<double>(out * kernel * kernel)); }
  Space x(const ModelSpaces& spaces) const { return images_in(spaces, letters_of_x(spec), in, size); }
  Space y(const ModelSpaces& spaces) const { return images_in(spaces, letters_of_y(spec), out, y_size()); }
  Space w(const ModelSpaces& spaces) const { return kernels_in(spaces, spec, {out, in, kernel, kernel}); }
};

}  // namespace riesz::models
