// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/models/image_model.h"

namespace riesz::models {

/// How far a model sees around what it predicts, in trained form: norms use their running moments.
struct Reach {
  std::int64_t halo = 0;  ///< pixels around a tile that its prediction depends on, a multiple of `unit`
  std::int64_t unit = 1;  ///< tiles and windows begin and end at multiples of it
};

/// Of a U-Net, by its convolutions, poolings and up-samplings. Nothing of a model whose prediction of a point
/// depends on the whole image or field.
std::optional<Reach> reach_of(const ImageConfig& config);

/// The same model for images or fields with so many rows and columns; its weights stay as they are.
/// @throws Error naming the kind whose weights depend on the size.
ImageConfig of_size(ImageConfig config, std::int64_t rows);

}  // namespace riesz::models
