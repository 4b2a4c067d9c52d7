// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/check_images.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/data/field_files.h"
#include "riesz/train/data/image_task.h"

namespace riesz {

namespace {

constexpr std::int64_t kMostBlocks = 10000, kMostChannels = 1 << 20;

/// The tasks from which a kind learns; none of one that reads tokens.
std::vector<std::string> tasks_of(const std::string& kind) {
  if (kind == "unet") return {"cells", "masks"};
  if (kind == "fno") return {"darcy", "fields"};
  return kind == "vit" || kind == "resnet" ? std::vector<std::string>{"images"} : std::vector<std::string>{};
}

/// The kinds of models that learn from a task; "" of a task of tokens.
std::string kinds_of(const std::string& task) {
  if (task == "images") return "\"vit\" or \"resnet\"";
  if (task == "cells" || task == "masks") return "\"unet\"";
  return task == "darcy" || task == "fields" ? "\"fno\"" : "";
}

/// Such as "cells" or "masks", in quotes.
std::string any_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += concat(text.empty() ? "" : " or ", '"', name, '"');
  return text;
}

void check_image_keys(const Config& config) {
  const auto& [model, data] = std::tie(config.model, config.data);
  RIESZ_CHECK(!data.images.empty(), "data.images names no folder to learn from; add data.images=FOLDER");
  RIESZ_CHECK(model.kind != "vit" || model.image % model.patch == 0, value_and_origin(config, "model.image"),
              " is no multiple of ", value_and_origin(config, "model.patch"), ": patches tile an image");
  RIESZ_CHECK(model.channels == 1 || model.channels == 3, value_and_origin(config, "model.channels"),
              ": images have 1 or 3");
  RIESZ_CHECK(data.resize == 0 || data.resize >= model.image, value_and_origin(config, "data.resize"),
              " is less than ", value_and_origin(config, "model.image"), ", the size of the center crop");
  RIESZ_CHECK(data.shift < model.image, value_and_origin(config, "data.shift"), " moves an image out of its ",
              value_and_origin(config, "model.image"));
  numbers_of_channels(config, "data.mean", data.mean);
  for (const double deviation : numbers_of_channels(config, "data.deviation", data.deviation))
    RIESZ_CHECK(deviation > 0, value_and_origin(config, "data.deviation"), "; it must be above 0");
}

/// Rows and columns at which the deepest batch norm of a ResNet or a U-Net sees an image.
std::int64_t least_size(const Config::Model& model) {
  if (model.kind == "unet") return model.image >> (model.levels - 1);
  // The first convolution halves it, a pooling does, and so do all stages but the first, or all.
  const std::int64_t halvings = 1 + std::ssize(model.depths) + (model.halves_first ? 1 : 0);
  std::int64_t size = model.image;
  for (std::int64_t i = 0; i < halvings; ++i) size = (size + 1) / 2;
  return size;
}

/// A single element has no variance.
void check_moments(const Config& config) {
  const std::int64_t parts = micro_batches_of(config);
  if (!has_batch_norms(config.model) || least_size(config.model) > 1 || config.train.batch / parts > 1)
    return;
  throw_error(concat(value_and_origin(config, "model.kind"), " has batch norms, and with ",
                     value_and_origin(config, "model.image"), ", ", value_and_origin(config, "train.batch"),
                     " and ", parts, parts == 1 ? " micro-batch" : " micro-batches",
                     " the deepest one sees a single image of one pixel, which has no variance; set "
                     "train.batch to ",
                     2 * parts, " or more, ",
                     parts > 1 ? "train.micro_batches (the number of micro-batches) lower, " : "",
                     "or model.image higher"));
}

}  // namespace

bool sees_images(const Config::Model& model) { return !tasks_of(model.kind).empty(); }

std::string row_names(const Config::Model& model) {
  return !sees_images(model) ? "sequences" : model.kind == "fno" ? "fields" : "images";
}

bool has_space(const Config::Model& model) { return sees_images(model) && model.kind != "vit"; }

bool has_batch_norms(const Config::Model& model) { return model.kind == "resnet" || model.kind == "unet"; }

void check_images(const Config& config) {
  const auto& [model, data] = std::tie(config.model, config.data);
  const std::vector<std::string> wanted = tasks_of(model.kind);
  const std::string kinds = kinds_of(data.task);
  const bool fits = std::find(wanted.begin(), wanted.end(), data.task) != wanted.end();
  RIESZ_CHECK(
      wanted.empty() ? kinds.empty() : fits, value_and_origin(config, "data.task"), " does not go with ",
      value_and_origin(config, "model.kind"),
      wanted.empty() ? concat(": set model.kind to ", kinds) : concat(": set data.task to ", any_of(wanted)));
  if (data.task == "images") check_image_keys(config);
  RIESZ_CHECK((data.task != "cells" && data.task != "darcy") || model.channels == 1,
              value_and_origin(config, "model.channels"), ": ",
              data.task == "cells" ? "images of cells are grey" : "a coefficient of Darcy flow is one number",
              "; set it to 1");
  constexpr std::int64_t kLeastCells = 16;
  RIESZ_CHECK(data.task != "cells" || model.image >= kLeastCells, value_and_origin(config, "model.image"),
              ": images of cells have at least ", kLeastCells, " rows and columns; set it to ", kLeastCells,
              " or more");
  check_moments(config);
  if (data.task == "masks" || data.task == "fields") open_field_files(config);  // says what is wrong
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
      "or take model.kind = \"resnet\", \"unet\" or \"fno\"");
  if (!has_space(config.model)) return;
  RIESZ_CHECK(config.layout.sequence == "none", value_and_origin(config, "layout.sequence"),
              " shares out sequences, and ", value_and_origin(config, "model.kind"),
              " has none; set layout.sequence to \"none\" and layout.sp to 1, and give its workers to "
              "layout.space");
  RIESZ_CHECK(
      config.layout.recompute != "attention", value_and_origin(config, "layout.recompute"), ": ",
      value_and_origin(config, "model.kind"),
      " has no attention; set it to \"blocks\", which are its residual blocks, levels or Fourier blocks");
  RIESZ_CHECK(config.compute == "same", value_and_origin(config, "compute"),
              " is of products of matrices, and ", value_and_origin(config, "model.kind"),
              " has convolutions; set compute to \"same\", or precision to \"bf16\"");
}

void check_unet(const Config& config) {
  const Config::Model& model = config.model;
  const std::int64_t halvings = model.levels - 1;
  RIESZ_CHECK(model.image % (std::int64_t{1} << halvings) == 0, value_and_origin(config, "model.image"),
              " is no multiple of ", std::int64_t{1} << halvings, ": each of ",
              value_and_origin(config, "model.levels"), " but the first halves it");
  RIESZ_CHECK(model.width <= kMostChannels >> halvings, value_and_origin(config, "model.width"),
              " is doubled by each level but the first; there are at most ", kMostChannels, " channels");
}

void check_fno(const Config& config) {
  const Config::Model& model = config.model;
  RIESZ_CHECK(model.modes.size() == 2, value_and_origin(config, "model.modes"), " has ", model.modes.size(),
              " numbers; give one for rows and one for columns, such as [12, 12]");
  for (const std::int64_t modes : model.modes)
    RIESZ_CHECK(modes <= model.image / 2, value_and_origin(config, "model.modes"), " has more than half of ",
                value_and_origin(config, "model.image"), ", all that a grid of that size has");
  RIESZ_CHECK(std::max(model.width, model.hidden) <= kMostChannels, value_and_origin(config, "model.width"),
              " and ", value_and_origin(config, "model.hidden"), "; there are at most ", kMostChannels,
              " channels");
  RIESZ_CHECK(model.layers <= kMostBlocks, value_and_origin(config, "model.layers"), "; there are at most ",
              kMostBlocks, " blocks");
  RIESZ_CHECK(config.precision == "fp32", value_and_origin(config, "precision"), ": ",
              value_and_origin(config, "model.kind"), " trains in fp32 only; set it to \"fp32\"");
}

void check_resnet(const Config& config) {
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
