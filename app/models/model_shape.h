// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/models/causal_model.h"
#include "riesz/models/vit.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The sizes of the model of tokens that is trained, and how it computes. They come from the model in
/// config.model.from, else from the other keys of config.model and `vocabulary`. Local.
/// @throws Error as `read_pretrained`.
models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary);

/// The same for a ViT with this number of labels, also where config.model.from has another number. Local.
models::VitConfig image_model_shape(const Config& config, std::int64_t labels);

/// The elements of an image, in all its channels. Local.
std::int64_t image_elements(const Config& config);

}  // namespace riesz::app
