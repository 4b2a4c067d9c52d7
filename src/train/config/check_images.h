// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/train/config/config.h"

namespace riesz {

// A part of `check_config`: what holds of images, of models that see them, and of layout.space. Local. Each
// @throws Error naming the keys, their values and what fits.

/// The task is one that the model learns from; and the keys of images.
void check_images(const Config& config);
/// layout.space, and what a model with such dims has none of.
void check_space(const Config& config);
/// The sizes of a ResNet, a U-Net or a Fourier neural operator that the keys say.
void check_resnet(const Config& config);
void check_unet(const Config& config);
void check_fno(const Config& config);

/// What the rows of a batch are: "sequences", "images" or "fields".
std::string row_names(const Config::Model& model);

}  // namespace riesz
