// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "riesz/models/causal_model.h"
#include "riesz/models/vit.h"
#include "riesz/train/config.h"

namespace riesz::app {

/// The type of a name that the configuration has: "fp32", "bf16" or "fp16".
at::ScalarType scalar_type(const std::string& name);

/// The sizes of the model that is trained, and how it computes: what config.model says, of so many tokens; or
/// what model.from has. Local.
models::CausalConfig model_shape(const Config& config, std::int64_t vocabulary);
/// The same of a model of images, of so many labels.
models::VitConfig image_model_shape(const Config& config, std::int64_t labels);

}  // namespace riesz::app
