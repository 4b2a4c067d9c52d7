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

/// The most pixels of an image.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

/// @throws Error where an image has no pixels, or more than `kMostPixels`.
void check_pixels(std::int64_t height, std::int64_t width, const std::string& what);

/// Memory for an image, (height, width, 3). @throws Error likewise.
at::Tensor allocate_image(std::int64_t height, std::int64_t width, const std::string& what);

}  // namespace riesz::detail
