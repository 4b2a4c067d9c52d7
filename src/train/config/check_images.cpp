// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/check_images.h"

#include <algorithm>
#include <tuple>

#include "riesz/comm/error.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/image_task.h"

namespace riesz {

bool sees_images(const Config::Model& model) { return model.kind == "vit" || model.kind == "resnet"; }

bool has_space(const Config::Model& model) { return model.kind == "resnet"; }

void check_images(const Config& config) {
  const auto& [model, data] = std::tie(config.model, config.data);
  const bool images = data.task == "images";
  RIESZ_CHECK(images == sees_images(model), value_and_origin(config, "data.task"), " does not go with ",
              value_and_origin(config, "model.kind"),
              images ? ": set model.kind to \"vit\" or \"resnet\", which see images"
                     : ", which sees images: set data.task to \"images\"");
  if (!images) return;
  RIESZ_CHECK(!data.images.empty(), "data.images names no folder to learn from; add data.images=FOLDER");
  RIESZ_CHECK(model.kind != "vit" || model.image % model.patch == 0, value_and_origin(config, "model.image"),
              " is no multiple of ", value_and_origin(config, "model.patch"), ": patches tile an image");
  RIESZ_CHECK(model.channels != 2, value_and_origin(config, "model.channels"), ": images have 1 or 3");
  RIESZ_CHECK(data.resize == 0 || data.resize >= model.image, value_and_origin(config, "data.resize"),
              " is less than ", value_and_origin(config, "model.image"), ", which is cut out of it");
  RIESZ_CHECK(data.shift < model.image, value_and_origin(config, "data.shift"), " moves an image out of its ",
              value_and_origin(config, "model.image"));
  numbers_of_channels(config, "data.mean", data.mean);
  for (const double deviation : numbers_of_channels(config, "data.deviation", data.deviation))
    RIESZ_CHECK(deviation > 0, value_and_origin(config, "data.deviation"), "; it must be above 0");
}

void check_space(const Config& config) {
  const std::vector<std::int64_t>& space = config.layout.space;
  RIESZ_CHECK(space.size() == 2, value_and_origin(config, "layout.space"), " has ", space.size(),
              " numbers; give one of workers along the height of an image, and one along its width, such as "
              "[2, 2]");
  const bool shared = space[0] > 1 || space[1] > 1;
  RIESZ_CHECK(
      !shared || has_space(config.model), value_and_origin(config, "layout.space"),
      " shares out the rows and columns of images, and ", value_and_origin(config, "model.kind"),
      " has no such dims; set layout.space to [1, 1], and give its workers to layout.dp or layout.tp, "
      "or take model.kind = \"resnet\"");
  if (!has_space(config.model)) return;
  RIESZ_CHECK(config.layout.sequence == "none", value_and_origin(config, "layout.sequence"),
              " shares out sequences, and ", value_and_origin(config, "model.kind"),
              " has none; set layout.sequence to \"none\" and layout.sp to 1, and give its workers to "
              "layout.space");
  RIESZ_CHECK(config.layout.recompute != "attention", value_and_origin(config, "layout.recompute"), ": ",
              value_and_origin(config, "model.kind"),
              " has no attention; set it to \"blocks\", which are residual blocks there");
  RIESZ_CHECK(config.compute == "same", value_and_origin(config, "compute"),
              " is of products of matrices, and ", value_and_origin(config, "model.kind"),
              " has convolutions; set compute to \"same\", or precision to \"bf16\"");
}

void check_resnet(const Config& config) {
  constexpr std::int64_t kMostBlocks = 10000, kMostChannels = 1 << 20;
  const Config::Model& model = config.model;
  RIESZ_CHECK(model.depths.size() == model.widths.size(), value_and_origin(config, "model.depths"),
              " are of ", model.depths.size(), " stages, and ", value_and_origin(config, "model.widths"),
              " of ", model.widths.size(), "; each stage has one of both");
  RIESZ_CHECK(*std::max_element(model.depths.begin(), model.depths.end()) <= kMostBlocks,
              value_and_origin(config, "model.depths"), "; a stage has at most ", kMostBlocks, " blocks");
  RIESZ_CHECK(
      std::max(model.stem, *std::max_element(model.widths.begin(), model.widths.end())) <= kMostChannels,
      value_and_origin(config, "model.widths"), " and ", value_and_origin(config, "model.stem"),
      "; there are at most ", kMostChannels, " channels");
  for (const std::int64_t width : model.widths)
    RIESZ_CHECK(!model.bottleneck || width % 4 == 0, value_and_origin(config, "model.widths"), " has ", width,
                ", which is no multiple of 4: a bottleneck has a fourth of the channels inside");
}

}  // namespace riesz
