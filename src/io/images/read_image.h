// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace riesz {

/// May a file of this name hold a picture that `read_image` reads: .png, .jpg or .jpeg, in capitals too?
bool is_image_name(const std::filesystem::path& path);

/// The picture in a PNG or JPEG file, which its first bytes tell apart whatever its name: red, green and blue
/// as bytes, (3, height, width). Grey ones have the three alike; what is transparent lies on black; 16 bits
/// become 8; a JPEG's note of how the camera was held is not followed. Local; memory: 9 bytes a pixel.
/// @throws Error naming the file and what is wrong with it: it is neither, cut off, or damaged.
at::Tensor read_image(const std::filesystem::path& path);

}  // namespace riesz
