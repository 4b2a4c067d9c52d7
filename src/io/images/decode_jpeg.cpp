// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <turbojpeg.h>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/images/decode.h"

namespace riesz::detail {

at::Tensor decode_jpeg(std::string_view bytes, const std::string& what) {
  struct Decompressor {
    tjhandle handle = tjInitDecompress();
    ~Decompressor() { tjDestroy(handle); }
  } decompressor;
  tjhandle handle = decompressor.handle;
  RIESZ_CHECK(handle != nullptr, what, ": libturbojpeg: ", tjGetErrorStr2(nullptr));
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  // A warning too, such as of an end that is missing, leaves an image that is not what was written.
  const auto check = [&](int status) {
    RIESZ_CHECK(status == 0, what, ": ", escaped(tjGetErrorStr2(handle)));
  };
  check(tjDecompressHeader3(handle, data, bytes.size(), &width, &height, &subsampling, &colours));
  at::Tensor pixels = room_for_image(height, width, what);
  check(tjDecompress2(handle, data, bytes.size(), pixels.mutable_data_ptr<std::uint8_t>(), width,
                      /*pitch=*/0, height, TJPF_RGB, /*flags=*/0));
  return pixels;
}

}  // namespace riesz::detail
