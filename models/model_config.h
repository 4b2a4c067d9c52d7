// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <variant>

#include "riesz/models/causal_model.h"
#include "riesz/models/image_model.h"

namespace riesz::models {

/// The sizes of a model of text or of images, of any kind in this library.
using ModelConfig = std::variant<CausalConfig, ImageConfig>;

/// Reads the text of a config.json. @throws Error naming the known kinds where its model_type is none of
/// them; also as that kind's reader, such as `image_config`.
ModelConfig model_config(const std::string& config_json);

}  // namespace riesz::models
