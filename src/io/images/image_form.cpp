// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/image_form.h"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>

#include <algorithm>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/images/decode.h"

namespace riesz {
namespace {

/// To so many rows and columns, rounded to bytes.
at::Tensor interpolated(const at::Tensor& images, std::int64_t height, std::int64_t width, bool bicubic) {
  if (images.size(2) == height && images.size(3) == width) return images;
  const std::vector<std::int64_t> extents{height, width};
  const at::Tensor wide = images.to(at::kFloat);
  const at::Tensor between = bicubic ? at::_upsample_bicubic2d_aa(wide, extents, /*align_corners=*/false)
                                     : at::_upsample_bilinear2d_aa(wide, extents, /*align_corners=*/false);
  return between.add(0.5).floor().clamp(0, 255).to(at::kByte);
}

/// Horizontally, rounded to bytes, then vertically, as Pillow does it.
at::Tensor resized(const at::Tensor& images, const ImageForm& form) {
  const std::int64_t height = images.size(2), width = images.size(3), shorter = std::min(height, width);
  const std::int64_t size = form.resized > 0 ? form.resized : form.size;
  const auto extent = [&](std::int64_t n) { return form.stretched ? size : size * n / shorter; };
  RIESZ_CHECK(extent(height) <= detail::kMostPixels / std::max<std::int64_t>(1, extent(width)),
              "an image of ", height, " x ", width, " pixels would become ", extent(height), " x ",
              extent(width), ", and ", detail::kMostPixels,
              " is the most; cut it, or bring images to fewer pixels");
  const at::Tensor columns = interpolated(images, height, extent(width), form.bicubic);
  return interpolated(columns, extent(height), extent(width), form.bicubic);
}

/// The middle `size` rows, or columns.
at::Tensor center_crop(const at::Tensor& images, std::int64_t dim, std::int64_t size) {
  return images.narrow(dim, (images.size(dim) - size) / 2, size);
}

/// In integers, by weights that add up to 2¹⁶: three equal channels become exactly that one.
at::Tensor with_one_channel(const at::Tensor& images) {
  const at::Tensor wide = images.to(at::kInt);
  const at::Tensor sum = wide.narrow(1, 0, 1).mul(19595).add(wide.narrow(1, 1, 1).mul(38470));
  return sum.add(wide.narrow(1, 2, 1).mul(7471)).add(1 << 15).bitwise_right_shift(16).to(at::kByte);
}

}  // namespace

at::Tensor to_form(const at::Tensor& images, const ImageForm& form) {
  const std::int64_t channels = images.size(1);
  RIESZ_CHECK((channels == 1 || channels == 3) && (form.channels == 1 || form.channels == 3), "images of ",
              channels, " channels cannot have ", form.channels, "; there are 1 and 3");
  at::Tensor formed = channels > form.channels ? with_one_channel(images) : images;
  formed = center_crop(center_crop(resized(formed, form), 2, form.size), 3, form.size);
  return formed.expand({-1, form.channels, -1, -1}).contiguous();
}

}  // namespace riesz
