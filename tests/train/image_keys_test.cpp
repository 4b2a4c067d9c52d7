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
  EXPECT_ERROR(of_images({"layout.space=[1, 2]", "model.kind=vit"}, 2), "shares out the rows and columns");
  EXPECT_ERROR(of_images({"layout.sp=2", "layout.sequence=ring"}, 2), "layout.sequence = \"ring\"",
               "shares out sequences", "has none");
  EXPECT_ERROR(of_images({"layout.recompute=attention"}, 1), "has no attention; set it to \"blocks\"");
  EXPECT_ERROR(of_images({"compute=bf16"}, 1), "compute = \"bf16\"", "has convolutions");
}

/// Batch norms take the moments of a micro-batch: their number must not follow layout.pp by a default.
TEST(ImageKeys, StagesOfBatchNormsNeedANumberOfMicroBatches) {
  EXPECT_ERROR(of_images({"layout.pp=2"}, 2), "layout.pp = 2 (on the command line): model.kind = \"resnet\"",
               "has batch norms, which take the moments of a micro-batch",
               "train.micro_batches, and that is not set; set it, such as to 4, twice layout.pp");
  EXPECT_ERROR(of_images({"layout.pp=2", "train.micro_batches=0"}, 2), "has batch norms");
  EXPECT_NO_THROW(of_images({"layout.pp=2", "train.micro_batches=4"}, 2));
  EXPECT_NO_THROW(of_images({"layout.pp=2", "model.kind=vit"}, 2));
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
  EXPECT_ERROR(of_images({"data.task=adder"}, 1), "data.images is set in ",
               "remove it (the word data.images= on the command line does), or set data.task=images");
  EXPECT_ERROR(of_images({"data.task=adder", "data.images="}, 1), "set data.task to \"images\"");
  EXPECT_ERROR(of_images({"model.kind=gpt2", "data.task=adder", "data.images=", "model.image=8"}, 1),
               "but model.kind is \"gpt2\"; remove it");
}

Config of_pixels(const ImageWords& words, int ranks = 1) {
  const testing::TemporaryFolder folder;
  const Config config = load_config(
      folder.write("cells.toml", "[model]\nkind = \"unet\"\nimage = 16\n[data]\ntask = \"cells\""), words);
  check_config(config, ranks);
  return config;
}

Config of_fields(const ImageWords& words, int ranks = 1) {
  const testing::TemporaryFolder folder;
  const Config config = load_config(
      folder.write("flow.toml", "[model]\nkind = \"fno\"\nimage = 24\n[data]\ntask = \"darcy\""), words);
  check_config(config, ranks);
  return config;
}

/// A micro-batch of which a channel has a single element somewhere is refused before anything starts.
TEST(ImageKeys, LeaveBatchNormsMoreThanOneElement) {
  EXPECT_ERROR(
      of_images({"model.image=32", "train.batch=4", "train.micro_batches=4"}, 1), "model.kind = \"resnet\"",
      "has batch norms, and with model.image = 32 (on the command line), "
      "train.batch = 4 (on the command line) and 4 micro-batches the deepest one sees a single image of "
      "one pixel",
      "set train.batch to 8 or more, train.micro_batches");
  EXPECT_NO_THROW(of_images({"model.image=33", "train.batch=4", "train.micro_batches=4"}, 1));
  EXPECT_NO_THROW(of_images({"model.image=32", "train.batch=8", "train.micro_batches=4"}, 1));
  EXPECT_ERROR(of_images({"model.image=33", "train.batch=1", "model.halves_first=true"}, 1),
               "1 micro-batch the");
  EXPECT_ERROR(of_pixels({"model.levels=5", "train.batch=3", "train.micro_batches=2"}), "one pixel");
  EXPECT_ERROR(
      of_images({"layout.keep_gathered=true", "layout.panels=2"}, 1),
      "layout.keep_gathered = true (on the command line) keeps until backward what layers gathered, and "
      "layout.panels = 2 (on the command line)");
}

TEST(ImageKeys, OfPixelsAndOfFields) {
  EXPECT_NO_THROW(of_pixels({"layout=space2x2.tp2", "layout.recompute=blocks"}, 8));
  EXPECT_ERROR(of_pixels({"model.levels=6"}), "model.image = 16", "is no multiple of 32");
  EXPECT_ERROR(of_pixels({"model.width=1000000"}), "doubled by each level");
  EXPECT_ERROR(of_pixels({"model.channels=3"}), "images of cells are grey");
  EXPECT_ERROR(of_pixels({"layout=pp2"}, 2), "layout.pp");
  EXPECT_ERROR(of_pixels({"model.kind=resnet"}), "data.task = \"cells\"",
               "does not go with model.kind = \"resnet\"", "set data.task to \"images\"");
  EXPECT_ERROR(of_pixels({"model.kind=gpt2", "model.image=16"}), "model.image is set");
  EXPECT_ERROR(of_pixels({"model.image=8"}),
               "model.image = 8 (on the command line): images of cells have at least 16");
  EXPECT_ERROR(of_pixels({"train.micro_batches=65"}), "is more than there are images");
  EXPECT_ERROR(of_fields({"train.micro_batches=65"}), "is more than there are fields");
  EXPECT_NO_THROW(of_fields({"layout=dp2.space2x1"}, 4));
  EXPECT_ERROR(of_fields({"model.modes=[4]"}), "model.modes = [4] (on the command line) has 1 numbers");
  EXPECT_ERROR(of_fields({"model.modes=[4,13]"}), "has more than half of model.image = 24");
  EXPECT_ERROR(of_fields({"precision=bf16"}), "precision = \"bf16\"", "trains in fp32 only");
}

}  // namespace
}  // namespace riesz
