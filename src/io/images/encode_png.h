// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace riesz {

/// The bytes of a PNG file of these pixels: (rows, columns, 3), bytes of red, green and blue. Local.
/// @throws Error naming the shape unless it is (rows, columns, 3) of uint8; or with libpng's reason.
std::string encode_png(const at::Tensor& pixels);

}  // namespace riesz
