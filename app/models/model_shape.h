// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/app/models/pretrained.h"
#include "riesz/models/causal_model.h"
#include "riesz/models/image_model.h"
#include "riesz/models/model_config.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The sizes of a folder's model as the keys take it: with model.upcycle those of the model with experts that
/// it becomes. Local. @throws Error naming the key where that is not possible.
models::ModelConfig shape_of_folder(const Pretrained& from, const Config::Model& keys);

/// The sizes of the model of tokens that is trained, and how it computes. They come from the model in
/// config.model.from, else from the other keys of config.model and `vocabulary`. Local.
/// @throws Error as `read_pretrained`.
models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary);

/// The same for a model of images with this number of labels, also where config.model.from has another
/// number. Local.
models::ImageConfig image_model_shape(const Config& config, std::int64_t labels);

/// The elements of an image, in all its channels. Local.
std::int64_t image_elements(const Config& config);

}  // namespace riesz::app
