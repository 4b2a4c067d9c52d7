// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/models/normed_conv.h"
#include "riesz/models/unet_config.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/upsample.h"

namespace riesz::models {

/// The encoder half of a level: a 2 × 2 max pooling, except on level 0, then two convolutions.
class UnetDown : public Layer<UnetDown> {
 public:
  UnetDown(OwnerAndName place, const UnetConfig& config, std::int64_t level) : Layer(std::move(place)) {
    const std::int64_t size = config.size_at(level), out = config.width_at(level);
    const std::int64_t in = level == 0 ? config.channels : config.width_at(level - 1);
    if (level > 0)
      pool_.emplace(OwnerAndName(*this, "pool"), images_in(spaces(), "bchw", in, config.size_at(level - 1)),
                    images_in(spaces(), "bchw", in, size), PoolWindows{.kernel = {2}});
    first_.emplace(OwnerAndName(*this, "first"),
                   ConvSizes{.spec = level == 0 ? "bxhw,fxrs->bfhw" : "bchw,fcrs->bfhw",
                             .in = in,
                             .out = out,
                             .size = size,
                             .activation = "relu"});
    second_.emplace(
        OwnerAndName(*this, "second"),
        ConvSizes{.spec = "bfhw,cfrs->bchw", .in = out, .out = out, .size = size, .activation = "relu"});
  }
  Vector forward(const Vector& x) { return (*second_)((*first_)(pool_ ? (*pool_)(x) : x)); }
  std::string describe() const override {
    return pool_ ? "pooling and two convolutions" : "two convolutions";
  }

 private:
  std::optional<MaxPool> pool_;
  std::optional<NormedConv> first_, second_;
};

/// The decoder half of a level: it doubles what comes from the level below, and convolves it together with
/// the skip, which the encoder half gave. The convolution of both, concatenated by channels, is a sum of two
/// convolutions.
class UnetUp : public Layer<UnetUp> {
 public:
  UnetUp(OwnerAndName place, const UnetConfig& config, std::int64_t level)
      : Layer(std::move(place)),
        up_{.spec = "bohw,cors->bchw",
            .in = config.width_at(level + 1),
            .out = config.width_at(level),
            .size = config.size_at(level),
            .kernel = 1},
        merged_{.spec = "bchw,fcrs->bfhw", .in = up_.out, .out = up_.out, .size = up_.size},
        enlarge_({*this, "enlarge"}, images_in(spaces(), "bohw", up_.in, config.size_at(level + 1)),
                 up_.x(spaces())),
        narrow_({*this, "narrow"}, up_),
        from_below_({*this, "from_below"}, merged_.spec, merged_.x(spaces()), merged_.w(spaces()),
                    merged_.y(spaces()), merged_options()),
        skipped_({*this, "skipped"}, merged_.spec, merged_.x(spaces()), merged_.w(spaces()),
                 merged_.y(spaces()), merged_options()),
        norm_({*this, "norm"}, merged_.y(spaces())),
        second_({*this, "second"}, {.spec = "bfhw,cfrs->bchw",
                                    .in = up_.out,
                                    .out = up_.out,
                                    .size = up_.size,
                                    .activation = "relu"}) {}

  Vector forward(const Vector& x, const Vector& skip) {
    const Vector below = narrow_(enlarge_(x));
    return second_(relu(norm_(from_below_(below) + skipped_(skip))));
  }
  std::string describe() const override { return "twice the resolution"; }

 private:
  ConvOptions merged_options() const {
    return {.windows = {.padding = {.each = {1}}}, .bias = false, .initial = merged_.initial()};
  }

  ConvSizes up_, merged_;
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
