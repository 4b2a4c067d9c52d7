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

/// Is a warning one with which other programs show the image all the same? That bytes stand before a marker
/// is, and so is a setting that is not known. Most often all pixels are then as they were written. An end
/// that is missing, or codes that are none, leave another image. The library keeps its first warning alone,
/// so the end is looked for too.
bool is_beside_the_pixels(std::string_view why, std::string_view bytes) {
  const bool stray = why.find("extraneous bytes before marker") != std::string_view::npos;
  const bool setting = why.starts_with("Unknown Adobe color transform") ||
                       why.starts_with("Warning: unknown JFIF revision") ||
                       why.starts_with("Invalid SOS parameters");
  return (stray || setting) && bytes.rfind("\xff\xd9") != std::string_view::npos;
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
  const auto check = [&](int status) {
    if (status == 0) return;
    const std::string why = tjGetErrorStr2(handle);
    const bool good = tjGetErrorCode(handle) == TJERR_WARNING && is_beside_the_pixels(why, bytes);
    RIESZ_CHECK(good, what, ": ", escaped(why));
  };
  check(tjDecompressHeader3(handle, data, bytes.size(), &width, &height, &subsampling, &colours));
  check_pixels(height, width, what);
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  const at::Tensor read = at::empty({height, width, inks ? 4 : 3}, at::kByte);
  check(tjDecompress2(handle, data, bytes.size(), read.mutable_data_ptr<std::uint8_t>(), width,
                      /*pitch=*/0, height, inks ? TJPF_CMYK : TJPF_RGB, /*flags=*/0));
  return inks ? without_black(read) : read;
}

}  // namespace riesz::detail
