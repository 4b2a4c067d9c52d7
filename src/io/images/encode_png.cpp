// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/encode_png.h"

#include <png.h>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {

std::string encode_png(const at::Tensor& pixels) {
  RIESZ_CHECK(
      pixels.dim() == 3 && pixels.size(2) == 3 && pixels.scalar_type() == at::kByte && pixels.numel() > 0,
      "encode_png: a tensor of ", pixels.sizes(), "; pixels are bytes of (rows, columns, 3)");
  const at::Tensor whole = pixels.contiguous();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(whole.size(0));
  image.width = static_cast<png_uint_32>(whole.size(1));
  image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  const int done = png_image_write_to_memory(&image, bytes.data(), &size, /*convert_to_8_bit=*/0,
                                             whole.const_data_ptr<std::uint8_t>(), /*row_stride=*/0,
                                             /*colormap=*/nullptr);
  RIESZ_CHECK(done != 0, "encode_png: ", escaped(image.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace riesz
