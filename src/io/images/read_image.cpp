// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/read_image.h"

#include <ATen/ops/empty.h>

#include <cctype>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/images/decode.h"

namespace riesz {
namespace detail {

void check_pixels(std::int64_t height, std::int64_t width, const std::string& what) {
  RIESZ_CHECK(height >= 1 && width >= 1 && height <= kMostPixels / width, what, ": it has ", height, " x ",
              width, " pixels; at most ", kMostPixels, " can be read");
}

at::Tensor allocate_image(std::int64_t height, std::int64_t width, const std::string& what) {
  check_pixels(height, width, what);
  return at::empty({height, width, 3}, at::kByte);
}

}  // namespace detail

bool is_image_name(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

at::Tensor read_image(const std::filesystem::path& path) {
  using namespace std::string_view_literals;
  const std::string bytes = bytes_of_file(path), what = "cannot read the image " + in_quotes(path.string());
  const bool png = bytes.starts_with("\x89PNG\r\n\x1a\n"sv);
  RIESZ_CHECK(png || bytes.starts_with("\xff\xd8"sv), what,
              ": it begins neither as a PNG nor as a JPEG; write it as one of these, or take it out");
  const at::Tensor pixels = png ? detail::decode_png(bytes, what) : detail::decode_jpeg(bytes, what);
  return pixels.permute({2, 0, 1}).contiguous();
}

}  // namespace riesz
