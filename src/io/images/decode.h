// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Pictures in memory, each by its library: red, green and blue of (height, width, 3), bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace riesz::detail {

/// What an error begins with, such as `cannot read the picture "a.png"`. Each @throws Error of it and the
/// library's reason.
at::Tensor decode_png(std::string_view bytes, const std::string& what);
at::Tensor decode_jpeg(std::string_view bytes, const std::string& what);

/// Room for a picture. @throws Error where it is of more than 2²⁸ pixels, or of none.
at::Tensor picture_of(std::int64_t height, std::int64_t width, const std::string& what);

}  // namespace riesz::detail
