// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace riesz {

/// True if the name ends in .png, .jpg or .jpeg, in any case.
bool is_image_name(const std::filesystem::path& path);

/// The image in a PNG or JPEG file; its first bytes say which it is, not its name. The result has red, green
/// and blue as bytes, (3, height, width); for a grey image the three are equal. Transparent pixels lie on
/// black, 16 bits become 8, and a JPEG's orientation is not applied. Local. Memory: the file, and about 9
/// bytes a pixel; of a CMYK JPEG about 38.
/// @throws Error naming the file and what is wrong with it: it is neither PNG nor JPEG, cut off, or damaged.
at::Tensor read_image(const std::filesystem::path& path);

}  // namespace riesz
