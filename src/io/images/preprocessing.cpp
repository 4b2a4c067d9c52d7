// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/images/preprocessing.h"

#include <ATen/ops/tensor.h>

#include <cmath>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

using detail::JsonField;
using nlohmann::ordered_json;

// Pillow's numbers of interpolations.
constexpr int kBilinear = 2, kBicubic = 3;

/// The most pixels a side: an image of that size in colour takes 3 GB in fp32.
constexpr std::int64_t kMostPixels = 1 << 14;

/// Numbers by which pixels are scaled are from one over this to this, and means at most this: so no pixel
/// becomes infinite in fp32.
constexpr double kMostFactor = 1e6;

/// What a processor does where its file does not say.
struct Defaults {
  Json size;
  int resample;
  bool crops;
  std::vector<double> mean, deviation;
  bool by_share = false;  ///< is the size of the center crop, a share `crop_pct` of what is resized?
};

/// Refuses what is not known, and what is not done.
void check_known(const JsonField& file) {
  file.allow({"image_processor_type",
              "feature_extractor_type",
              "processor_class",
              "do_resize",
              "size",
              "default_to_square",
              "resample",
              "do_center_crop",
              "crop_size",
              "crop_pct",
              "do_rescale",
              "rescale_factor",
              "do_normalize",
              "image_mean",
              "image_std",
              "do_convert_rgb",
              "data_format",
              "do_pad",
              "input_data_format",
              "device",
              "return_tensors",
              "disable_grouping",
              "_valid_processor_keys"});
  if (file.flag("do_pad", false)) file.refuse("has do_pad = true; nothing is padded here");
}

Defaults defaults_of(const JsonField& file) {
  std::string type = "ViTImageProcessor";
  for (const char* key : {"feature_extractor_type", "image_processor_type"}) {
    if (const auto said = file.find(key)) type = said->text();
  }
  for (const std::string ending : {"Fast", "Pil"})
    if (type.ends_with(ending)) type.resize(type.size() - ending.size());
  if (type == "ViTImageProcessor" || type == "ViTFeatureExtractor")
    return {{{"height", 224}, {"width", 224}}, kBilinear, false, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
  if (type == "CLIPImageProcessor" || type == "CLIPFeatureExtractor")
    return {{{"shortest_edge", 224}},
            kBicubic,
            true,
            {0.48145466, 0.4578275, 0.40821073},
            {0.26862954, 0.26130258, 0.27577711}};
  if (type == "ConvNextImageProcessor" || type == "ConvNextFeatureExtractor")
    return {{{"shortest_edge", 384}}, kBicubic, true, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, true};
  file.refuse(concat("is of a ", type,
                     "; there are ViTImageProcessor, CLIPImageProcessor and ConvNextImageProcessor here"));
}

std::int64_t pixels_of(const JsonField& field) { return field.integer(1, kMostPixels); }

/// A number, or the height and the width of an object, which must be equal.
std::int64_t square_of(const JsonField& field) {
  if (field.value().is_number()) return pixels_of(field);
  field.allow({"height", "width"});
  const std::int64_t height = pixels_of(field["height"]), width = pixels_of(field["width"]);
  if (height != width) field.refuse(concat("is ", height, " x ", width, ", and images here are square"));
  return height;
}

/// One for each channel, or one for all, of a range.
std::vector<double> channel_numbers(const JsonField& file, const std::string& key,
                                    const std::vector<double>& otherwise, std::int64_t channels, double least,
                                    double most) {
  const auto field = file.find(key);
  std::vector<double> numbers = otherwise;
  if (field) {
    numbers.clear();
    if (field->value().is_number()) numbers.push_back(field->number(least, most));
    if (!field->value().is_number())
      for (const JsonField& element : field->elements()) numbers.push_back(element.number(least, most));
  }
  bool same = !numbers.empty();
  for (const double number : numbers) same &= number == numbers[0];
  if (static_cast<std::int64_t>(numbers.size()) != channels && numbers.size() != 1)
    file.refuse(concat("has ", numbers.size(), " numbers as ", key, " of ", channels, " channels"));
  return same ? std::vector<double>{numbers[0]} : numbers;
}

/// What bytes, b / 255, become: (b · by − mean) / deviation is the same of b / 255.
void read_numbers(const JsonField& file, const Defaults& defaults, Preprocessing& of) {
  of.mean = {0}, of.deviation = {1};
  if (file.flag("do_normalize", true)) {
    of.mean = channel_numbers(file, "image_mean", defaults.mean, of.form.channels, -kMostFactor, kMostFactor);
    of.deviation = channel_numbers(file, "image_std", defaults.deviation, of.form.channels, 1 / kMostFactor,
                                   kMostFactor);
  }
  const auto factor = file.find("rescale_factor");
  double by = factor ? factor->number(1 / kMostFactor, kMostFactor) : 1.0 / 255;
  if (!file.flag("do_rescale", true)) by = 1;
  const double scale = std::abs(255 * by - 1) < 1e-12 ? 1 : 255 * by;
  for (double& mean : of.mean) mean /= scale;
  for (double& deviation : of.deviation) deviation /= scale;
}

/// As a ConvNextImageProcessor: below this size what is resized is cropped; else the whole is
/// stretched.
void read_shared_form(const JsonField& file, const JsonField& size, ImageForm& form) {
  constexpr std::int64_t kStretched = 384;
  if (size.value().is_object()) size.allow({"shortest_edge"});
  form.size = pixels_of(size.value().is_object() ? size["shortest_edge"] : size);
  form.stretched = form.size >= kStretched;
  const auto share = file.find("crop_pct");
  const double part = share ? share->number(0.1, 1) : 224.0 / 256;
  form.resized =
      form.stretched ? form.size : static_cast<std::int64_t>(static_cast<double>(form.size) / part);
}

void read_edges(const JsonField& file, const Defaults& defaults, const JsonField& size, ImageForm& form) {
  const Json& said = size.value();
  const bool crops = file.flag("do_center_crop", defaults.crops);
  // A number alone means the shorter side to those processors that crop.
  const bool shorter =
      said.is_object() ? said.contains("shortest_edge") : !file.flag("default_to_square", !defaults.crops);
  if (shorter && said.is_object()) size.allow({"shortest_edge"});
  form.resized = !shorter ? square_of(size) : pixels_of(said.is_object() ? size["shortest_edge"] : size);
  form.stretched = !shorter;
  if (shorter && !crops)
    size.refuse("is of the shorter side, and do_center_crop is not set; images here are square");
  const Json otherwise = 224;
  const auto crop = file.find("crop_size");
  form.size = !crops ? form.resized
                     : square_of(crop ? *crop : JsonField(otherwise, "preprocessor_config.json: crop_size"));
  if (form.size > form.resized)
    file.refuse(concat("crops ", form.size, " pixels of ", form.resized, "; nothing is padded here"));
}

void read_form(const JsonField& file, const Defaults& defaults, ImageForm& form) {
  if (!file.flag("do_resize", true)) file.refuse("has do_resize = false; images are always resized here");
  const Json said = file.find("size") ? file["size"].value() : defaults.size;
  const JsonField size(said, "preprocessor_config.json: size");
  if (defaults.by_share)
    read_shared_form(file, size, form);
  else
    read_edges(file, defaults, size, form);
  if (form.resized == form.size) form.resized = 0;
  const auto resample = file.find("resample");
  const std::int64_t filter = resample ? resample->integer(0, 5) : defaults.resample;
  if (filter != kBilinear && filter != kBicubic)
    file.refuse(concat("has resample = ", filter, "; there are 2, bilinear, and 3, bicubic, here"));
  form.bicubic = filter == kBicubic;
}

ordered_json list_of(const std::vector<double>& numbers, std::int64_t channels) {
  ordered_json list = ordered_json::array();
  for (std::int64_t i = 0; i < channels; ++i)
    list.push_back(numbers.size() == 1 ? numbers[0] : numbers[static_cast<std::size_t>(i)]);
  return list;
}

}  // namespace

Preprocessing preprocessing_of(const std::string& text, std::int64_t channels) {
  const Json json = strict_json("preprocessor_config.json: it", text);
  const JsonField file(json, "preprocessor_config.json: ");
  check_known(file);
  const Defaults defaults = defaults_of(file);
  Preprocessing of;
  of.form.channels = channels;
  read_form(file, defaults, of.form);
  read_numbers(file, defaults, of);
  return of;
}

std::string preprocessor_config_json(const Preprocessing& preprocessing) {
  const ImageForm& form = preprocessing.form;
  const bool crops = !form.stretched || form.resized > 0;
  const std::int64_t resized = form.resized > 0 ? form.resized : form.size;
  const ordered_json square{{"height", resized}, {"width", resized}};
  const ordered_json shorter{{"shortest_edge", resized}};
  return ordered_json{{"image_processor_type", crops ? "CLIPImageProcessor" : "ViTImageProcessor"},
                      {"do_resize", true},
                      {"size", form.stretched ? square : shorter},
                      {"resample", form.bicubic ? kBicubic : kBilinear},
                      {"do_center_crop", crops},
                      {"crop_size", {{"height", form.size}, {"width", form.size}}},
                      {"do_rescale", true},
                      {"rescale_factor", 1.0 / 255},
                      {"do_normalize", true},
                      {"image_mean", list_of(preprocessing.mean, form.channels)},
                      {"image_std", list_of(preprocessing.deviation, form.channels)},
                      {"do_convert_rgb", form.channels == 3}}
             .dump(2) +
         "\n";
}

at::Tensor normalised(const at::Tensor& bytes, const Preprocessing& preprocessing) {
  const auto by_channel = [](const std::vector<double>& numbers) {
    return at::tensor(numbers, at::kFloat).view({-1, 1, 1});
  };
  return bytes.to(at::kFloat)
      .div_(255)
      .sub_(by_channel(preprocessing.mean))
      .div_(by_channel(preprocessing.deviation));
}

}  // namespace riesz
