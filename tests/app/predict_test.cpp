// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Predictions in tiles: beside those of whole images, and what memory they take.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "riesz/app/jobs/plan_memory.h"
#include "riesz/app/memory/tiles_memory.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/tiling.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/image_tiles.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/predict_tiles.h"

namespace riesz::testing {
namespace {

/// Any box of images that are functions of the place.
at::Tensor images_in(const Box& box) {
  const auto places = [](const Interval& of) { return at::arange(of.begin, of.end, at::kDouble); };
  const at::Tensor at_rows = places(box[2]).unsqueeze(1), at_columns = places(box[3]),
                   number = places(box[0]);
  const at::Tensor angle =
      number.view({-1, 1, 1, 1}) + at_rows * 0.7 + at_columns * 1.3 + at_rows * at_columns * 0.01;
  return angle.sin().expand({box[0].size(), box[1].size(), box[2].size(), box[3].size()});
}

app::HeldModel model_of(const models::ImageConfig& shape, at::ScalarType type, const Config::Layout& layout) {
  const Partition job = Partition::world().grid(job_axes(layout));
  app::HeldModel model = app::make_image_model(shape, type, layout_on(layout, job), job);
  model.learner.module.initialise(1, type);
  return model;
}

/// Layouts of this job: by images, by rows and columns, by channels.
std::vector<Config::Layout> layouts() {
  const int p = Runtime::size();
  std::vector<Config::Layout> all(3);
  all[0].dp = p;
  all[1].space = {p % 2 == 0 ? 2 : p, p % 2 == 0 ? p / 2 : 1};
  all[2].tp = p;
  return all;
}

struct Compared {
  double apart = 0;         ///< the greatest difference from the prediction of the whole
  std::int64_t pixels = 0;  ///< that this worker was given
};

Compared compared(const app::Tiling& tiling, std::int64_t images, const Config::Layout& layout,
                  const at::Tensor& whole) {
  const app::HeldModel model = model_of(tiling.model, at::kDouble, layout);
  Compared of;
  predict_tiles(
      model.learner, tiles_of(images, tiling.height, tiling.width), 3, images_in,
      [&](const PredictedTile& part) {
        const at::Tensor wanted = narrow(whole[part.row], {part.place[0], part.place[1], {0, whole.size(3)}});
        of.apart = std::max(of.apart, part.values.sub(wanted).abs().max().item<double>());
        of.pixels += part.values.numel() / whole.size(3);
      });
  return of;
}

double most_of_all(double mine) {
  double most = 0;
  for (const std::string& text : collect_texts(Partition::world(), std::to_string(mine * 1e15)))
    most = std::max(most, std::stod(text) / 1e15);
  return most;
}

TEST(PredictTiles, GivesWhatTheWholeImageGives) {
  constexpr std::int64_t kImages = 2;
  for (const std::int64_t levels : {2, 3}) {
    const models::UnetConfig unet{.levels = levels, .width = 3, .image = levels * 36, .labels = 4};
    const std::int64_t size = unet.image, tile = 12 * (levels - 1);
    const app::Tiling tiling = app::tiling_of(unet, size, size, tile);
    ASSERT_LT(tiling.window, size);
    app::Tiling too_near = tiling;  // windows whose halo is one unit less
    const std::int64_t unit = models::reach_of(unet)->unit, halo = tiling.halo - unit;
    too_near.height = too_near.width = tiled(size, tiling.window, halo, unit);
    for (const Config::Layout& layout : layouts()) {
      SCOPED_TRACE(concat(levels, " levels, ", product_of(layout)));
      const app::HeldModel all = model_of(unet, at::kDouble, layout);
      const at::Tensor whole = predict(all.learner, Rows({kImages, 1, size, size}, at::kDouble, images_in));
      const Compared right = compared(tiling, kImages, layout, whole);
      EXPECT_LT(right.apart, 1e-12);
      EXPECT_GT(most_of_all(compared(too_near, kImages, layout, whole).apart), 1e-12);
      std::int64_t pixels = 0;
      for (const std::string& text : collect_texts(Partition::world(), std::to_string(right.pixels)))
        pixels += std::stoll(text);
      EXPECT_EQ(pixels, kImages * size * size * layout.tp);
    }
  }
}

TEST(Tiles, CoverADimOnceWithinTheirWindows) {
  for (const std::int64_t extent : {24, 40, 64, 100})
    for (const std::int64_t window : {24, 32, 36}) {
      if (window > extent) continue;
      const TiledDim dim = tiled(extent, window, 8, 4);
      std::int64_t next = 0;
      for (std::size_t i = 0; i < dim.tiles.size(); ++i) {
        const Interval &tile = dim.tiles[i], &read = dim.windows[i];
        EXPECT_EQ(tile.begin, next);
        EXPECT_EQ(read.size(), window);
        EXPECT_TRUE(read.begin == 0 || read.begin <= tile.begin - 8) << to_string(read);
        EXPECT_TRUE(read.end == extent || read.end >= tile.end + 8) << to_string(read);
        EXPECT_TRUE(read.begin >= 0 && read.end <= extent && read.begin % 4 == 0);
        next = tile.end;
      }
      EXPECT_EQ(next, extent);
    }
  EXPECT_ERROR(tiled(40, 16, 8, 4), "windows of 16 in 40", "more than two halos of 8");
  EXPECT_ERROR(tiled(42, 24, 8, 4), "both must be multiples of 4");
}

TEST(Tiles, AreRefusedWhereAPointDependsOnTheWholeField) {
  EXPECT_ERROR(app::tiling_of(models::FourierNeuralOperatorConfig{}, 128, 128, 64),
               "a \"fno\" transforms the whole field", "leave --tile out");
  EXPECT_ERROR(app::tiling_of(models::FourierNeuralOperatorConfig{}, 128, 64, 0), "as many rows as columns");
  EXPECT_ERROR(app::tiling_of(models::ResnetConfig{}, 64, 64, 0), "labels whole images");
  EXPECT_EQ(app::tiling_of(models::FourierNeuralOperatorConfig{}, 128, 128, 0).window, 128);
}

TEST(Tiles, AreRefusedWhereAnImageIsTooNarrow) {
  const models::UnetConfig unet{.levels = 3, .width = 3, .image = 48, .labels = 4};
  EXPECT_ERROR(app::tiling_of(unet, 48, 2000, 0), "an image of 48 x 2000",
               "give images of more than 48 rows and columns");
  EXPECT_EQ(app::tiling_of(unet, 48, 48, 0).window, 48);
}

/// As `riesz predict` takes them, also of several images.
TEST(Tiles, ArePlannedAsManyAtOnceAsSaid) {
  Config config;
  config.model.kind = "unet", config.model.width = 3, config.model.image = 16, config.data.task = "cells";
  const app::HostWords host{.memory = 100.0, .predicts = 32, .at_once = 6};
  const app::Tiling tiling = app::tiling_of(app::image_model_shape(config, 3), 32, 32, 0);
  ASSERT_EQ(tiling.tiles_of_an_image(), 1);
  const auto plan = nlohmann::json::parse(app::memory_plan(config, host, app::Form::json));
  const double said = app::memory_of_tiles(config, tiling, 6);
  EXPECT_GT(said, 1e5);
  EXPECT_EQ(plan.at("bytes_of_a_rank_to_predict").get<double>(), said);
}

/// Rows and columns of the field that is predicted: 1024, or by hand RIESZ_FIELD.
std::int64_t field_size() {
  const char* const said = std::getenv("RIESZ_FIELD");
  return said == nullptr ? 1024 : std::atoll(said);
}

/// A prediction of one field in windows of 256 x 256.
struct InTiles {
  Config config;
  std::int64_t at_once = 1;

  InTiles(const Config::Layout& layout, std::int64_t tiles) : at_once(tiles) {
    config.model.kind = "unet", config.model.width = 8, config.data.task = "cells", config.layout = layout;
  }
  app::Tiling tiling() const {
    return app::tiling_of(app::image_model_shape(config, 3), field_size(), field_size(), 200);
  }
  double said() const { return app::memory_of_tiles(config, tiling(), at_once); }
  double measured() const {
    const app::Tiling tiles = tiling();
    const MemoryMeter meter;
    const app::HeldModel model = model_of(tiles.model, at::kFloat, config.layout);
    predict_tiles(
        model.learner, tiles_of(1, tiles.height, tiles.width), at_once,
        [](const Box& box) { return images_in(box).to(at::kFloat); }, [](const PredictedTile&) {});
    return most_of_all(static_cast<double>(MemoryMeter::peak()));
  }
};

/// The activations of the whole field would take 16 times as much, of one of 8192 x 8192 a thousand times.
TEST(TilesMemory, IsAsSaid) {
  const int p = Runtime::size();
  Config::Layout by_tiles, by_parts;
  by_tiles.dp = p;
  by_parts.space = {2, p / 2};
  std::vector<InTiles> all{{by_tiles, p}};
  if (p % 2 == 0) all.emplace_back(by_parts, 1);
  std::vector<double> said;
  for (const InTiles& each : all) said.push_back(each.said());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double most = all[i].measured();
    EXPECT_NEAR(most / said[i], 1, 0.03) << most << " bytes, and " << said[i] << " were said";
  }
}

}  // namespace
}  // namespace riesz::testing
