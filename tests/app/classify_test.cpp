// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Images are labelled by a ViT's folder, on any number of ranks and at any layout.
#include "riesz/app/jobs/classify.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <fstream>

#include "../io/images/png_bytes.h"
#include "../io/shared_folder.h"
#include "riesz/comm/error.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/images/image_set.h"
#include "riesz/models/configs.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A small ViT of its own weights for images of 8 x 8, and three images of 12 x 9.
class ClassifyFolder : public ::testing::Test {
 protected:
  ClassifyFolder() {
    models::VitConfig config{.layers = 2, .heads = 3, .width = 18, .hidden = 20, .image = 8, .patch = 4};
    config.labels = 3;
    const Partition all = Partition::world().grid({{"tp", Runtime::size()}});
    models::Vit model(spaces::one_d(all), config);
    model.initialise(7, at::kFloat);
    // So that labels differ.
    for (Parameter parameter : model.parameters())
      if (parameter.name() == "classifier.weight") parameter.set(full_weight(config));
    save_checkpoint(folder_.path() / "model", all,
                    {state_of_values(model.parameters()),
                     published_shapes(model.parameters()),
                     {{"config.json", models::config_json(config, {"cat", "a\tdog", "eel"})},
                      {"preprocessor_config.json",
                       R"({"size": 8, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.25, 0.5]})"}}});
    for (int i = 0; i < 3; ++i) {
      images_.push_back(
          (at::arange(3 * 12 * 9, at::kLong) * (37 + 9 * i) % 251).to(at::kByte).view({3, 12, 9}));
      files_.push_back(write(std::to_string(i) + ".png", png_bytes(images_.back(), PNG_FORMAT_RGB)));
    }
  }

  /// Numbers of either sign.
  static at::Tensor full_weight(const models::VitConfig& of) {
    return ((at::arange(of.labels * of.width, at::kLong) * 29 % 23).to(at::kFloat) / 11 - 1)
        .view({of.labels, of.width});
  }

  std::string write(const std::string& name, const std::string& bytes) {
    wait_for_all(Partition::world());
    if (Runtime::rank() == 0) std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    wait_for_all(Partition::world());
    return (folder_.path() / name).string();
  }

  app::ClassifyWords words(app::ModelWords model = {}) const {
    model.folder = (folder_.path() / "model").string();
    return {.model = model, .images = files_, .top = 2, .at_once = 2};
  }

  /// What the first rank prints.
  static std::string printed(const app::ClassifyWords& words) {
    ::testing::internal::CaptureStdout();
    std::exception_ptr thrown;
    try {
      app::classify_images(words);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::string text = ::testing::internal::GetCapturedStdout();
    if (thrown) std::rethrow_exception(thrown);
    return collect_texts(Partition::world(), text).front();
  }

  /// By the formulas, from the model's logits on.
  std::string expected() {
    const app::HeldModel model = app::load_image_model(words().model);
    std::string text;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      at::Tensor seen =
          to_form(images_[i].unsqueeze(0), {.channels = 3, .size = 8, .stretched = true}) / 255.0;
      const double mean[] = {0.1, 0.2, 0.3}, deviation[] = {0.5, 0.25, 0.5};
      for (int c = 0; c < 3; ++c) seen.select(1, c).sub_(mean[c]).div_(deviation[c]);
      const at::Tensor p = at::softmax(predict(model.learner, seen).to(at::kDouble), 1)[0];
      const std::string names[] = {"cat", "a\\tdog", "eel"};
      const at::Tensor order = p.argsort(0, /*descending=*/true);
      text += files_[i] + "\n";
      for (int k = 0; k < 2; ++k) {
        const auto label = order[k].item<std::int64_t>();
        char line[64];
        std::snprintf(line, sizeof line, "  %6.2f %%  %s\n", 100 * p[label].item<double>(),
                      names[label].c_str());
        text += line;
      }
    }
    return text;
  }

  SharedFolder folder_;
  std::vector<at::Tensor> images_;
  std::vector<std::string> files_;
};

TEST_F(ClassifyFolder, SaysTheSameAtEveryLayout) {
  const std::string text = expected();
  EXPECT_THAT(text, Not(HasSubstr("100.00"))) << "numbers that say nothing";
  const int p = Runtime::size();
  std::vector<app::ModelWords> layouts{{}, {.dp = p}, {.sp = p}, {.tensor = "sp"}};
  if (p % 2 == 0) layouts.push_back({.pp = 2});
  for (const app::ModelWords& layout : layouts)
    EXPECT_EQ(printed(words(layout)), text) << layout.dp << layout.sp << layout.pp << layout.tensor;
}

TEST_F(ClassifyFolder, SaysWhatDoesNotFit) {
  app::ClassifyWords asked = words();
  asked.images.push_back("/no/such/image.png");
  EXPECT_ERROR(app::classify_images(asked), "classify: there is no file \"/no/such/image.png\"");
  asked.images.back() = folder_.path().string();
  EXPECT_ERROR(app::classify_images(asked), "is a folder; name the images in it");
  asked.images = {files_[0], files_[1], write("cut.png", "\x89PNG\r\n\x1a\n")};
  EXPECT_ERROR(printed(asked), "cannot read the image \"", "cut.png\"");
  asked = words();
  asked.at_once = 0;
  EXPECT_ERROR(app::classify_images(asked), "--batch-size 0");
  asked = words({.tensor = "3d"});
  if (Runtime::size() > 1) {
    EXPECT_ERROR(app::classify_images(asked),
                 "layout.tensor = \"3d\" needs layout.tp workers that are a cube: 8, 27",
                 concat("; on ", Runtime::size(), " ranks there is no \"3d\", but \"1d\", \"sp\""));
  }
  write("model/preprocessor_config.json", R"({"size": 8, "resample": 1})");
  EXPECT_ERROR(app::classify_images(words()), "resample = 1", "so says");
  wait_for_all(Partition::world());
  if (Runtime::rank() == 0) std::filesystem::remove(folder_.path() / "model/preprocessor_config.json");
  wait_for_all(Partition::world());
  EXPECT_ERROR(app::classify_images(words()), "has no preprocessor_config.json");
  write("model/preprocessor_config.json", R"({"size": 8})");
  models::VitConfig other{.layers = 2, .heads = 3, .width = 18, .hidden = 19, .image = 8, .patch = 4};
  other.labels = 3;
  write("model/config.json", models::config_json(other, {"cat", "dog", "eel"}));
  EXPECT_ERROR(app::classify_images(words()), " of another shape or type:", "[20, 18] in the file",
               "\nwhat is wanted is what its config.json says; take the weights and the config.json of one");
  other.labels = 1;
  write("model/config.json", models::config_json(other, {"cat"}));
  EXPECT_ERROR(app::classify_images(words()), "has one label, \"cat\", which every image would get");
  write("model/config.json", models::config_json(models::MinGptConfig{}));
  EXPECT_ERROR(app::classify_images(words()), "is of text (a gpt2)");
}

}  // namespace
}  // namespace riesz::testing
