// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Images that are in memory as files: decoded by each format's library to bytes, red, green and blue,
// (height, width, 3).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace riesz::detail {

// @throws Error that begins with `what`, such as `cannot read the image "a.png"`, and gives the library's
// reason.

at::Tensor decode_png(std::string_view bytes, const std::string& what);
at::Tensor decode_jpeg(std::string_view bytes, const std::string& what);

/// Memory for an image. @throws Error where it has no pixels, or more than 2²⁸.
at::Tensor room_for_image(std::int64_t height, std::int64_t width, const std::string& what);

}  // namespace riesz::detail
