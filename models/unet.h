// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/models/normed_conv.h"
#include "riesz/models/parts.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/resample.h"

namespace riesz::models {

/// A U-Net's sizes.
struct UnetConfig {
  std::int64_t levels = 3;  ///< resolutions: each has half the rows and columns of the one above
  std::int64_t width = 16;  ///< channels at the first level; each has twice those of the one above
  std::int64_t image = 64;  ///< rows and columns of an image, a multiple of 2^(levels − 1)
  std::int64_t channels = 1;
  std::int64_t labels = 2;              ///< of a pixel
  ContractionOptions contraction = {};  ///< of the head

  std::int64_t width_at(std::int64_t level) const { return width << level; }
  std::int64_t size_at(std::int64_t level) const { return image >> level; }

  /// Its letters: b batch, h rows and w columns, x channels of images, c and o channels between convolutions
  /// of a level, f inside of one, l labels.
  Roles roles() const {
    check_sizes(
        "U-Net",
        {{"levels", levels}, {"width", width}, {"image", image}, {"channels", channels}, {"labels", labels}});
    RIESZ_CHECK(levels <= 16 && image % (std::int64_t{1} << (levels - 1)) == 0, "U-Net: an image of ", image,
                " is no multiple of 2^(levels - 1) with ", levels, " levels, each of which halves it");
    return {{'b', {Role::batch}},           {'h', {height_role(), image}},    {'w', {width_role(), image}},
            {'x', {Role::whole, channels}}, {'c', {Role::width, width}},      {'o', {Role::width, width}},
            {'f', {Role::inner, width}},    {'l', {Role::vocabulary, labels}}};
  }
};

/// The first half of a level: it halves what comes from the level above, and convolves it twice.
class UnetDown : public Layer<UnetDown> {
 public:
  UnetDown(OwnerAndName place, const UnetConfig& config, std::int64_t level) : Layer(std::move(place)) {
    const std::int64_t size = config.size_at(level), out = config.width_at(level);
    const std::int64_t in = level == 0 ? config.channels : config.width_at(level - 1);
    if (level > 0)
      pool_.emplace(OwnerAndName(*this, "pool"), images_in(spaces(), "bchw", in, config.size_at(level - 1)),
                    images_in(spaces(), "bchw", in, size), PoolWindows{.kernel = {2}});
    first_.emplace(OwnerAndName(*this, "first"), ConvSizes{level == 0 ? "bxhw,fxyz->bfhw" : "bchw,fcyz->bfhw",
                                                           in, out, size, 3, 1, "relu"});
    second_.emplace(OwnerAndName(*this, "second"),
                    ConvSizes{"bfhw,cfyz->bchw", out, out, size, 3, 1, "relu"});
  }
  Vector forward(const Vector& x) { return (*second_)((*first_)(pool_ ? (*pool_)(x) : x)); }
  std::string describe() const override { return "half the resolution"; }

 private:
  std::optional<MaxPool> pool_;
  std::optional<NormedConv> first_, second_;
};

/// The second half of a level: doubles what comes from the level below, and convolves it together with what
/// the first half gave. The convolution of both, one behind the other by channels, is a sum of two
/// convolutions.
class UnetUp : public Layer<UnetUp> {
 public:
  UnetUp(OwnerAndName place, const UnetConfig& config, std::int64_t level)
      : Layer(std::move(place)),
        below_{"bohw,coyz->bchw", config.width_at(level + 1), config.width_at(level), config.size_at(level),
               1},
        both_{"bchw,fcyz->bfhw", config.width_at(level), config.width_at(level), config.size_at(level)},
        enlarge_({*this, "enlarge"}, images_in(spaces(), "bohw", below_.in, config.size_at(level + 1)),
                 below_.x(spaces())),
        narrow_({*this, "narrow"}, below_),
        from_below_({*this, "from_below"}, both_.spec, both_.x(spaces()), both_.w(spaces()),
                    both_.y(spaces()), of_three()),
        skipped_({*this, "skipped"}, both_.spec, both_.x(spaces()), both_.w(spaces()), both_.y(spaces()),
                 of_three()),
        norm_({*this, "norm"}, both_.y(spaces())),
        second_({*this, "second"}, {"bfhw,cfyz->bchw", both_.out, both_.out, both_.size, 3, 1, "relu"}) {}

  Vector forward(const Vector& x, const Vector& skip) {
    const Vector below = narrow_(enlarge_(x));
    return second_(relu(norm_(from_below_(below) + skipped_(skip))));
  }
  std::string describe() const override { return "twice the resolution"; }

 private:
  static ConvOptions of_three() { return {.windows = {.padding = {.each = {1}}}, .bias = false}; }

  ConvSizes below_, both_;
  Upsample enlarge_;
  NormedConv narrow_;
  Conv from_below_, skipped_;
  BatchNorm norm_;
  NormedConv second_;
};

/// A U-Net (Ronneberger et al., 1505.04597) with padding and batch norms: says of each pixel of an image
/// which label it has. Skips may cross stages.
class Unet : public Part<Unet, UnetConfig> {
 public:
  Unet(const Layout& layout, const UnetConfig& sizes) : Part(layout, sizes) {
    for (std::int64_t level = 0; level < config.levels; ++level)
      down_.emplace_back(OwnerAndName(*this, concat("down.", level)), config, level);
    for (std::int64_t level = config.levels - 2; level >= 0; --level)
      up_.emplace_back(OwnerAndName(*this, concat("up.", level)), config, level);
    head_.emplace(*this, "head", "bchw,lc->bhwl", LinearOptions{.contraction = config.contraction});
  }
  /// Images of (B, channels, image, image) → logits of (B, image, image, labels).
  Vector forward(const Vector& images) {
    std::vector<Vector> skips;
    Vector x = images;
    for (UnetDown& each : down_) skips.push_back(x = each(x));
    for (std::size_t i = 0; i < up_.size(); ++i) x = up_[i](x, skips[up_.size() - 1 - i]);
    return (*head_)(x);
  }
  bool is_repeated() const override { return true; }
  /// The space of images; that of the labels of pixels, (B, image, image).
  Space images() const { return images_in(down_.front().spaces(), "bxhw", config.channels, config.image); }
  Space targets() const { return head_->spaces().inside("bhw"); }
  std::string describe() const override {
    return concat("U-Net: ", config.levels, " levels, width ", config.width, ", images of ", config.image,
                  ", ", config.labels, " labels");
  }

 private:
  std::deque<UnetDown> down_;
  std::deque<UnetUp> up_;
  std::optional<Linear> head_;
};

}  // namespace riesz::models
