// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "riesz/models/normed_conv.h"
#include "riesz/models/resnet_config.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz::models {

/// (B, in, H, W) → (B, out, ⌈H/stride⌉, ⌈W/stride⌉): a residual block, of two convolutions or a bottleneck of
/// three.
class ResnetBlock : public Layer<ResnetBlock> {
 public:
  ResnetBlock(OwnerAndName place, const ResnetConfig& config, const ResnetConfig::Block& of)
      : Layer(std::move(place)), activation_(config.activation) {
    if (of.has_shortcut()) shortcut_.emplace(OwnerAndName(*this, "shortcut"), config.shortcut(of));
    for (const ConvSizes& each : config.convolutions(of))
      layer_.emplace_back(OwnerAndName(*this, concat("layer.", layer_.size())), each);
  }

  Vector forward(const Vector& x) {
    Vector y = x;
    for (NormedConv& each : layer_) y = each(y);
    return activate(activation_, y + (shortcut_ ? (*shortcut_)(x) : x));
  }
  std::string describe() const override { return "residual block"; }

 private:
  std::string activation_;
  std::optional<NormedConv> shortcut_;
  std::deque<NormedConv> layer_;
};

/// Images → what the first block is given: a convolution and a pooling, each of which halves rows and
/// columns.
class ResnetEmbedder : public Part<ResnetEmbedder, ResnetConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& images) { return pooler_(embedder_(images)); }
  std::string describe() const override { return "first convolution and pooling"; }

 private:
  NormedConv embedder_{{*this, "embedder"}, config.first()};
  MaxPool pooler_{{*this, "pooler"},
                  config.first().y(spaces()),
                  images_in(spaces(), "bchw", config.stem, config.pooled()),
                  {.kernel = {3}, .stride = {2}, .padding = {1}}};
};

/// The residual blocks of all stages, one after another.
class ResnetEncoder : public Part<ResnetEncoder, ResnetConfig> {
 public:
  ResnetEncoder(OwnerAndName place, const ResnetConfig& sizes) : Part(std::move(place), sizes) {
    for (const ResnetConfig::Block& each : sizes.blocks())
      blocks_.emplace_back(OwnerAndName(*this, each.name), sizes, each);
  }
  Vector forward(Vector x) {
    for (ResnetBlock& each : blocks_) x = each(x);
    return x;
  }
  bool is_repeated() const override { return true; }
  std::string describe() const override { return concat(blocks_.size(), " residual blocks"); }

 private:
  std::deque<ResnetBlock> blocks_;
};

/// (B, C, H, W) → (B, C): the mean of all rows and columns.
class ResnetPooler : public Layer<ResnetPooler> {
 public:
  using Layer::Layer;
  Vector forward(const Vector& x) {
    return to_space(mean(x, {2, 3}, {.all_reduce = true}), spaces().stream("bc"));
  }
  std::string describe() const override { return "mean of rows and columns"; }
};

/// The residual network (He et al., 1512.03385; a bottleneck halves in its 3 × 3 convolution) with a
/// classifier, under the names of Hugging Face's checkpoints. Written once for all layouts.
class Resnet : public Part<Resnet, ResnetConfig> {
 public:
  using Part::Part;
  /// Images of (B, channels, image, image) → logits of (B, labels).
  Vector forward(const Vector& images) { return classifier_(pooler_(encoder_(embedder_(images)))); }
  /// The space of images; that of the labels that logits are compared with, (B).
  Space images() const { return config.first().x(embedder_.spaces()); }
  Space targets() const { return classifier_.spaces().inside("b"); }
  std::string describe() const override {
    return concat("ResNet: depths ", at::IntArrayRef(config.depths), ", widths ",
                  at::IntArrayRef(config.widths), config.bottleneck ? ", bottlenecks" : "", ", images of ",
                  config.image, ", ", config.labels, " labels");
  }

 private:
  ResnetEmbedder embedder_{{*this, "resnet.embedder"}, config};
  ResnetEncoder encoder_{{*this, "resnet.encoder"}, config};
  ResnetPooler pooler_{{*this, "resnet.pooler"}};
  Linear classifier_{*this, "classifier.1", "bc,lc->bl", {.contraction = config.contraction}};
};

}  // namespace riesz::models
