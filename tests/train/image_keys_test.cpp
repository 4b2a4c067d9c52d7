// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Keys of models of images, and layout.space.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../io/temporary_folder.h"
#include "riesz/comm/error.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"

namespace riesz {
namespace {

using ImageWords = std::vector<std::string>;

Config of_images(const ImageWords& words, int ranks) {
  const testing::TemporaryFolder folder;
  const Config config = load_config(
      folder.write("seen.toml", "[model]\nkind = \"resnet\"\n[data]\ntask = \"images\"\nimages = \"x\""),
      words);
  check_config(config, ranks);
  return config;
}

TEST(ImageKeys, SpaceMakesTwoAxes) {
  const Config config = of_images({"layout=dp3.space2x1.tp2"}, 12);
  std::string axes;
  for (const Axis& axis : job_axes(config.layout)) axes += concat(axis.name, "=", axis.extent, " ");
  EXPECT_EQ(axes, "dp=3 height=2 width=1 tp=2 ");
  const Partition mesh = Partition::simulated(12).grid(job_axes(config.layout));
  EXPECT_EQ(token_axes(config.layout, mesh), (ImageWords{"dp", "height", "width"}));
  EXPECT_EQ(product_of(config.layout),
            "layout.dp x layout.space x layout.sp x layout.tp = 3 x [2, 1] x 1 x 2");
}

TEST(ImageKeys, SpaceIsRefusedWhereItDoesNotFit) {
  EXPECT_ERROR(of_images({"layout.space=[2, 2]"}, 2),
               "layout.space x layout.sp x layout.tp = 1 x [2, 2] x 1 x 1",
               "the job has 2 ranks; start 4 ranks");
  EXPECT_ERROR(of_images({"layout.space=2,2", "layout.dp=2"}, 12),
               "on 12 ranks with layout.space = [2, 2]:", "layout.dp = 1, layout.tp = 3");
  EXPECT_ERROR(of_images({"layout.space=[4]"}, 4), "layout.space = [4] (on the command line) has 1 numbers");
  EXPECT_ERROR(of_images({"layout.space=[2, 1]", "model.kind=vit"}, 2),
               "shares out the rows and columns of images",
               "model.kind = \"vit\" (on the command line) has no such dims");
  EXPECT_ERROR(of_images({"layout.sp=2", "layout.sequence=ring"}, 2), "layout.sequence = \"ring\"",
               "shares out sequences", "has none");
  EXPECT_ERROR(of_images({"layout.recompute=attention"}, 1), "has no attention; set it to \"blocks\"");
  EXPECT_ERROR(of_images({"compute=bf16"}, 1), "compute = \"bf16\"", "has convolutions");
}

TEST(ImageKeys, AreThoseOfTheKind) {
  EXPECT_EQ(of_images({}, 1).model.activation, "relu");
  EXPECT_NO_THROW(of_images({"model.depths=[3]", "model.widths=[8]", "model.bottleneck=true"}, 1));
  EXPECT_ERROR(of_images({"model.depths=[3]"}, 1), "model.depths = [3] (on the command line) are of 1 stages",
               "model.widths = [64, 128, 256, 512] (the default) of 4");
  EXPECT_ERROR(of_images({"model.widths=[8,8,8,6]", "model.bottleneck=true"}, 1),
               "has 6, which is no multiple of 4");
  EXPECT_ERROR(of_images({"model.layers=3"}, 1), "model.layers is set on the command line",
               "read only with model.kind = \"gpt2\"", "but model.kind is \"resnet\"");
  EXPECT_ERROR(of_images({"data.task=adder", "data.images="}, 1), "data.images is set");
}

}  // namespace
}  // namespace riesz
