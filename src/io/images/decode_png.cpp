// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <png.h>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/images/decode.h"

namespace riesz::detail {

at::Tensor decode_png(std::string_view bytes, const std::string& what) {
  struct Reading {
    png_image image{};
    ~Reading() { png_image_free(&image); }
  } reading;
  png_image& image = reading.image;
  image.version = PNG_IMAGE_VERSION;
  RIESZ_CHECK(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0, what, ": ",
              escaped(image.message));
  image.format = PNG_FORMAT_RGB;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  at::Tensor pixels = allocate_image(image.height, image.width, what);
  const png_color black{0, 0, 0};
  const int done = png_image_finish_read(&image, &black, pixels.mutable_data_ptr<std::uint8_t>(),
                                         /*row_stride=*/0, /*colormap=*/nullptr);
  // A warning is of a chunk beside the pixels, such as gAMA, iCCP, cHRM or sBIT: damaged ones are errors.
  RIESZ_CHECK(done != 0, what, ": ", escaped(image.message));
  return pixels;
}

}  // namespace riesz::detail
