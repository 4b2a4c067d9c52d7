// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/field_picture.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../io/temporary_folder.h"
#include "riesz/io/images/encode_png.h"
#include "riesz/io/images/read_image.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

std::vector<int> colour(const at::Tensor& pixel) {
  std::vector<int> parts;
  for (std::int64_t i = 0; i < 3; ++i) parts.push_back(pixel[i].item<int>());
  return parts;
}

TEST(FieldPicture, GoesFromTheLeastToTheGreatestOfARow) {
  const at::Tensor fields =
      at::tensor({1.0, 2.0, 3.0, 5.0, -1.0, -1.0, 0.0, 1.0}, at::kDouble).view({2, 2, 2});
  const at::Tensor grey = in_grey(fields);
  EXPECT_EQ(colour(grey[0][0][0]), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(colour(grey[0][1][0]), (std::vector<int>{128, 128, 128}));
  EXPECT_EQ(colour(grey[1][1][1]), (std::vector<int>{255, 255, 255}));
  const at::Tensor colours = in_colours(fields.mul(2), fields);
  EXPECT_EQ(colour(colours[1][0][0]), (std::vector<int>{68, 1, 84})) << "below the scale";
  EXPECT_EQ(colour(colours[0][1][1]), (std::vector<int>{253, 231, 37})) << "above the scale";
  EXPECT_EQ(colour(in_colours(fields, fields)[0][1][0]), (std::vector<int>{33, 145, 141}));
  EXPECT_EQ(colour(in_grey(fields.mul(0))[0][0][0]), (std::vector<int>{0, 0, 0}));
}

TEST(FieldPicture, LabelsHaveColours) {
  const at::Tensor colours = of_labels(at::tensor({0, 1, 2, 9}, at::kLong).view({1, 2, 2}));
  EXPECT_EQ(colour(colours[0][0][0]), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(colour(colours[0][0][1]), colour(colours[0][1][1]));
  EXPECT_NE(colour(colours[0][0][1]), colour(colours[0][1][0]));
}

TEST(FieldPicture, HasRowsBelowOneAnother) {
  const at::Tensor fields = at::arange(2 * 40 * 50, at::kDouble).view({2, 40, 50});
  const at::Tensor all = rows_of_pictures({in_grey(fields), in_colours(fields, fields)});
  EXPECT_EQ(all.sizes(), (std::vector<std::int64_t>{2 * (120 + 4) + 4, 2 * (150 + 4) + 4, 3}));
  EXPECT_EQ(colour(all[0][0]), (std::vector<int>{255, 255, 255}));
  EXPECT_EQ(colour(all[4][4]), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(colour(all[128][158]), (std::vector<int>{68, 1, 84}));
}

TEST(EncodePng, IsReadAsTheSamePixels) {
  const testing::TemporaryFolder folder;
  const at::Tensor pixels = at::arange(2 * 3 * 3, at::kLong).mul(7).to(at::kByte).view({2, 3, 3});
  const auto path = folder.write("a.png", encode_png(pixels));
  EXPECT_TRUE(read_image(path).equal(pixels.permute({2, 0, 1})));
  EXPECT_ERROR(encode_png(pixels.select(2, 0)), "encode_png: a tensor of [2, 3]");
}

}  // namespace
}  // namespace riesz
