// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace riesz::app {

/// The type that keys and options call "fp32", "bf16" or "fp16". @throws Error naming these for another name.
at::ScalarType scalar_type(const std::string& name);

/// The name of one of the three in Hugging Face's config.json: "float32", "bfloat16" or "float16".
const char* published_type(at::ScalarType type);

/// Sets the type of the weights in config.json, an object: under its key `dtype`, or without that under its
/// older name `torch_dtype`.
void publish_type(nlohmann::ordered_json& config, at::ScalarType type);

}  // namespace riesz::app
