// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace riesz::app {

/// The type that keys and options call "fp32", "bf16" or "fp16". @throws Error naming these for another name.
at::ScalarType scalar_type(const std::string& name);

/// What Hugging Face's config.json calls one of the three: "float32", "bfloat16" or "float16".
const char* published_type(at::ScalarType type);

}  // namespace riesz::app
