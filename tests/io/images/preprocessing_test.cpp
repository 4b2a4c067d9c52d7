// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// preprocessor_config.json: what is read is what is done; what is not done, or not known, is refused by name.
#include "riesz/io/images/preprocessing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "riesz/comm/error.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using ::testing::ElementsAre;

void expect_form(const ImageForm& of, const ImageForm& form) {
  EXPECT_EQ(of.channels, form.channels);
  EXPECT_EQ(of.size, form.size);
  EXPECT_EQ(of.resized, form.resized);
  EXPECT_EQ(of.stretched, form.stretched);
  EXPECT_EQ(of.bicubic, form.bicubic);
}

TEST(Preprocessing, IsRead) {
  // As google/vit-base-patch16-224 has it, and as a CLIP's without its defaults.
  const Preprocessing vit = preprocessing_of(
      R"({"do_normalize": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
          "resample": 2, "size": 224})",
      3);
  expect_form(vit.form, {.channels = 3, .size = 224, .stretched = true});
  EXPECT_THAT(vit.mean, ElementsAre(0.5));
  const Preprocessing clip = preprocessing_of(R"({"image_processor_type": "CLIPImageProcessorFast"})", 3);
  expect_form(clip.form, {.channels = 3, .size = 224, .bicubic = true});
  EXPECT_THAT(clip.mean, ElementsAre(0.48145466, 0.4578275, 0.40821073));

  const Preprocessing cut = preprocessing_of(
      R"({"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 256}, "do_center_crop": true,
          "crop_size": {"height": 224, "width": 224}, "resample": 3, "image_std": [0.1, 0.2, 0.3]})",
      3);
  expect_form(cut.form, {.channels = 3, .size = 224, .resized = 256, .bicubic = true});
  EXPECT_THAT(cut.deviation, ElementsAre(0.1, 0.2, 0.3));
  expect_form(
      preprocessing_of(R"({"feature_extractor_type": "CLIPFeatureExtractor", "size": 32, "crop_size": 16,
                                   "image_mean": [0.5], "image_std": 0.5})",
                       1)
          .form,
      {.channels = 1, .size = 16, .resized = 32, .bicubic = true});
}

/// The center crop is a share of what is resized, where it is small.
TEST(Preprocessing, IsReadOfAConvNextsProcessor) {
  const Preprocessing resnet = preprocessing_of(  // as microsoft/resnet-18 has it
      R"({"crop_pct": 0.875, "do_normalize": true, "do_resize": true,
          "feature_extractor_type": "ConvNextFeatureExtractor", "image_mean": [0.485, 0.456, 0.406],
          "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": 224})",
      3);
  expect_form(resnet.form, {.channels = 3, .size = 224, .resized = 256, .bicubic = true});
  EXPECT_THAT(resnet.mean, ElementsAre(0.485, 0.456, 0.406));
  const auto form_of = [](const std::string& keys) {
    return preprocessing_of(R"({"image_processor_type": "ConvNextImageProcessor")" + keys + "}", 3).form;
  };
  expect_form(form_of(""), {.channels = 3, .size = 384, .stretched = true, .bicubic = true});
  expect_form(form_of(R"(, "size": {"shortest_edge": 100}, "crop_pct": 0.96, "resample": 2)"),
              {.channels = 3, .size = 100, .resized = 104});
  EXPECT_ERROR(form_of(R"(, "size": 64, "crop_pct": 0)"), "crop_pct is 0");
}

/// By the formula of each: (b · factor − mean) / deviation, or less of it.
TEST(Preprocessing, IsWhatTheFactorAndTheNumbersSay) {
  const at::Tensor bytes = at::arange(256, at::kByte).view({1, 1, 16, 16});
  const auto shown = [&](const std::string& keys) {
    return normalised(
        bytes, preprocessing_of(R"({"size": 16, "image_mean": [0.25], "image_std": [0.5])" + keys + "}", 1));
  };
  const auto far = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).abs() / (b.abs() + 1)).max().item<double>();
  };
  const at::Tensor b = bytes.to(at::kFloat);
  EXPECT_LE(far(shown(""), (b / 255 - 0.25) / 0.5), 1e-6);
  EXPECT_LE(far(shown(R"(, "rescale_factor": 0.0078125)"), (b / 128 - 0.25) / 0.5), 1e-6);
  EXPECT_LE(far(shown(R"(, "do_rescale": false)"), (b - 0.25) / 0.5), 1e-6);
  EXPECT_LE(far(shown(R"(, "do_normalize": false)"), b / 255), 1e-6);
  EXPECT_LE(far(shown(R"(, "do_normalize": false, "do_rescale": false)"), b), 1e-6);
}

TEST(Preprocessing, ComesBackAsItWas) {
  for (const ImageForm& form : {ImageForm{3, 32}, ImageForm{1, 32, 40}, ImageForm{3, 32, 0, true},
                                ImageForm{3, 32, 40, true, true}}) {
    const Preprocessing of{form, {0.1}, {0.25}};
    const Preprocessing back = preprocessing_of(preprocessor_config_json(of), form.channels);
    expect_form(back.form, form);
    EXPECT_EQ(back.mean, of.mean);
    EXPECT_EQ(back.deviation, of.deviation);
  }
  const std::string text = preprocessor_config_json({{3, 32, 0, true}, {0.1, 0.2, 0.3}, {0.5}});
  EXPECT_THAT(preprocessing_of(text, 3).mean, ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(text, ::testing::HasSubstr(R"("image_processor_type": "ViTImageProcessor")"));
}

TEST(Preprocessing, RefusesWhatIsNotDoneHere) {
  const auto refused = [](const std::string& text, const std::string& why) {
    EXPECT_ERROR(preprocessing_of(text, 3), "preprocessor_config.json: ", why);
  };
  refused("[1]", "");
  refused(R"({"image_processor_type": "DeiTImageProcessor"})", "is of a DeiTImageProcessor; there are");
  refused(R"({"do_resize": false})", "do_resize = false");
  refused(R"({"do_pad": true})", "do_pad = true");
  refused(R"({"do_sharpen": true})", "has \"do_sharpen\", which is not supported");
  refused(R"({"resample": 1})", "resample = 1; there are 2, bilinear, and 3, bicubic");
  refused(R"({"size": {"height": 8, "width": 9}})", "size is 8 x 9, and images here are square");
  refused(R"({"size": {"shortest_edge": 8}})", "size is of the shorter side, and do_center_crop is not set");
  refused(R"({"size": {"shortest_edge": 8, "longest_edge": 9}})", "has \"longest_edge\"");
  refused(R"({"size": 8, "do_center_crop": true, "crop_size": 9})", "crops 9 pixels of 8");
  for (const char* pixels : {"8.5", "0", "-1", "1000000000000", "18446744073709551615"}) {
    const std::string why = concat(" is ", pixels, "; it must be an integer from 1 to 16384");
    refused(concat(R"({"size": )", pixels, "}"), "size" + why);
    refused(concat(R"({"size": {"height": )", pixels, R"(, "width": 8}})"), "size.height" + why);
    refused(concat(R"({"do_center_crop": true, "size": {"shortest_edge": )", pixels, "}}"),
            "size.shortest_edge" + why);
    refused(concat(R"({"do_center_crop": true, "crop_size": )", pixels, "}"), "crop_size" + why);
  }
  for (const char* number : {"1e+300", "1e-300", "0", "-1", "\"1\""})
    refused(concat(R"({"rescale_factor": )", number, "}"),
            concat("rescale_factor is ", number, "; it must be a number from 1e-06 to 1e+06"));
  refused(R"({"image_mean": [0, 1e300, 0]})", "image_mean[1] is 1e+300; it must be a number from -1e+06");
  refused(R"({"image_std": 1e-300})", "image_std is 1e-300; it must be a number from 1e-06 to 1e+06");
  refused(R"({"image_mean": 1e400})", "it is no JSON: a number in it is too great");
  refused(R"({"image_mean": [1, 2]})", "has 2 numbers as image_mean of 3 channels");
  refused(R"({"image_std": [0, 1, 1]})", "image_std[0] is 0; it must be a number");
}

/// Numbers of Pillow's resize, of [[10, 200, 30, 90], [250, 0, 60, 120]].
TEST(ToForm, HasPillowsPixels) {
  const at::Tensor image = at::tensor({10, 200, 30, 90, 250, 0, 60, 120}, at::kByte).view({1, 1, 2, 4});
  const auto in_form = [&](const ImageForm& form) { return to_form(image, form).flatten(); };
  const auto is = [](std::vector<int> pixels) { return at::tensor(pixels, at::kByte); };
  EXPECT_TRUE(in_form({.size = 3, .stretched = true}).equal(is({67, 115, 72, 121, 73, 87, 175, 30, 102})));
  EXPECT_TRUE(in_form({.size = 3, .stretched = true, .bicubic = true})
                  .equal(is({59, 127, 62, 126, 70, 87, 193, 12, 112})));
}

TEST(ToForm, IsStretchedAndCutAsTheFormSays) {
  const at::Tensor wide = (at::arange(96, at::kLong) * 89 % 251).to(at::kByte).view({1, 1, 8, 12});
  const auto resized = [&](std::int64_t height, std::int64_t width, const auto& interpolate) {
    at::Tensor of = wide;
    for (const std::int64_t rows : {std::int64_t{8}, height}) {
      const std::vector<std::int64_t> extents{rows, width};
      of = (interpolate(of.to(at::kFloat), extents) + 0.5).floor().clamp(0, 255).to(at::kByte);
    }
    return of;
  };
  const auto bilinear = [](const at::Tensor& of, at::IntArrayRef extents) {
    return at::_upsample_bilinear2d_aa(of, extents, false);
  };
  const auto bicubic = [](const at::Tensor& of, at::IntArrayRef extents) {
    return at::_upsample_bicubic2d_aa(of, extents, false);
  };

  EXPECT_TRUE(to_form(wide, {.size = 4, .stretched = true}).equal(resized(4, 4, bilinear)));
  EXPECT_TRUE(to_form(wide, {.size = 4, .resized = 6, .bicubic = true})
                  .equal(resized(6, 9, bicubic).narrow(2, 1, 4).narrow(3, 2, 4)));
  EXPECT_TRUE(to_form(wide, {.size = 4, .resized = 8}).equal(wide.narrow(2, 2, 4).narrow(3, 4, 4)));
  EXPECT_TRUE(to_form(wide, {.size = 6, .resized = 8, .stretched = true})
                  .equal(resized(8, 8, bilinear).narrow(2, 1, 6).narrow(3, 1, 6)));
}

}  // namespace
}  // namespace riesz
