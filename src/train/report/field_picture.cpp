// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/field_picture.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/full.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>

namespace riesz {
namespace {

constexpr std::int64_t kRows = 128;   // of a picture, about
constexpr std::int64_t kBorder = 4;   // pixels between pictures
constexpr std::int64_t kColours = 8;  // of labels; then they begin again

/// From 0 for the least number of a row of `scale` to 1 for its greatest.
at::Tensor scaled(const at::Tensor& fields, const at::Tensor& scale) {
  const at::Tensor of = scale.to(at::kDouble);
  const at::Tensor least = at::amin(of, {1, 2}, true), greatest = at::amax(of, {1, 2}, true);
  return fields.to(at::kDouble).sub(least).div(greatest.sub(least).clamp_min(1e-300)).clamp(0, 1);
}

at::Tensor bytes_of(const at::Tensor& shares) { return shares.mul(255).round().to(at::kByte); }

}  // namespace

at::Tensor in_grey(const at::Tensor& fields) {
  return bytes_of(scaled(fields, fields)).unsqueeze(3).expand({-1, -1, -1, 3});
}

at::Tensor in_colours(const at::Tensor& fields, const at::Tensor& scale) {
  // matplotlib's viridis at 0, 1/4 …, and lines between.
  static const double kKnots[5][3] = {{0.267, 0.005, 0.329},
                                      {0.229, 0.322, 0.546},
                                      {0.128, 0.567, 0.551},
                                      {0.369, 0.789, 0.383},
                                      {0.993, 0.906, 0.144}};
  const at::Tensor at_knot = scaled(fields, scale).mul(4).unsqueeze(3);
  at::Tensor colours = at::full({fields.size(0), fields.size(1), fields.size(2), 3}, 0.0, at::kDouble);
  for (std::int64_t knot = 0; knot < 5; ++knot) {
    const auto& colour = kKnots[knot];
    const at::Tensor share = at_knot.sub(static_cast<double>(knot)).abs().neg().add(1).clamp_min(0);
    colours += share.mul(at::tensor({colour[0], colour[1], colour[2]}, at::kDouble));
  }
  return bytes_of(colours);
}

at::Tensor of_labels(const at::Tensor& labels) {
  const at::Tensor colours = at::tensor({0,   0,   0,  230, 159, 0,   86,  180, 233, 0,   158, 115,
                                         240, 228, 66, 0,   114, 178, 213, 94,  0,   204, 121, 167},
                                        at::kByte)
                                 .view({kColours, 3});
  const at::Tensor flat = labels.reshape({-1}).remainder(kColours);
  return colours.index_select(0, flat).view({labels.size(0), labels.size(1), labels.size(2), 3});
}

at::Tensor rows_of_pictures(const std::vector<at::Tensor>& pictures) {
  const at::Tensor& first = pictures.front();
  const std::int64_t times = std::max<std::int64_t>(1, kRows / first.size(1));
  const std::int64_t height = first.size(1) * times + kBorder, width = first.size(2) * times + kBorder;
  const auto count = static_cast<std::int64_t>(pictures.size());
  at::Tensor all = at::full({first.size(0) * height + kBorder, count * width + kBorder, 3}, 255, at::kByte);
  for (std::int64_t column = 0; column < count; ++column) {
    const at::Tensor large = at::repeat_interleave(
        at::repeat_interleave(pictures[static_cast<std::size_t>(column)], times, 1), times, 2);
    for (std::int64_t row = 0; row < first.size(0); ++row)
      all.narrow(0, row * height + kBorder, height - kBorder)
          .narrow(1, column * width + kBorder, width - kBorder)
          .copy_(large.select(0, row));
  }
  return all;
}

}  // namespace riesz
