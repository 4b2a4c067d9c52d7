// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty.h>
#include <turbojpeg.h>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/images/decode.h"

namespace riesz::detail {
namespace {

/// Of cyan, magenta, yellow and black, each as what it leaves of the light, as Adobe's programs write them
/// and Pillow reads them: the light that is left of red, green and blue.
at::Tensor without_black(const at::Tensor& inks) {
  const at::Tensor wide = inks.to(at::kFloat);
  return wide.narrow(2, 0, 3).mul(wide.narrow(2, 3, 1)).div_(255).round_().to(at::kByte);
}

}  // namespace

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
  const at::Tensor pixels = room_for_image(height, width, what);
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  const at::Tensor read = inks ? at::empty({height, width, 4}, at::kByte) : pixels;
  check(tjDecompress2(handle, data, bytes.size(), read.mutable_data_ptr<std::uint8_t>(), width,
                      /*pitch=*/0, height, inks ? TJPF_CMYK : TJPF_RGB, /*flags=*/0));
  return inks ? without_black(read) : pixels;
}

}  // namespace riesz::detail
