// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

namespace riesz {

/// The type that safetensors calls `name`, such as "BF16"; nothing for one that is unknown here.
std::optional<at::ScalarType> safetensors_type(std::string_view name);

/// The type's name in a header. @throws Error for a type that the format does not have.
const char* safetensors_name(at::ScalarType type);

/// The type's place in the order in which the safetensors library writes tensors: narrower types first.
int safetensors_order(at::ScalarType type);

/// All names, for messages.
std::string safetensors_names();

}  // namespace riesz
