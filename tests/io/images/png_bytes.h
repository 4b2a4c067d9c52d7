// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <png.h>

#include <string>

namespace riesz::testing {

/// A PNG file of an image of bytes, (channels, height, width), whose channels the format says.
inline std::string png_bytes(const at::Tensor& image, std::uint32_t format) {
  const at::Tensor pixels = image.permute({1, 2, 0}).contiguous();
  png_image about{};
  about.version = PNG_IMAGE_VERSION;
  about.height = static_cast<png_uint_32>(image.size(1));
  about.width = static_cast<png_uint_32>(image.size(2));
  about.format = format;
  std::string file(std::size_t{1} << 16, '\0');
  png_alloc_size_t size = file.size();
  png_image_write_to_memory(&about, file.data(), &size, 0, pixels.const_data_ptr(), 0, nullptr);
  file.resize(size);
  return file;
}

}  // namespace riesz::testing
