// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/images.h"
#include "riesz/models/parts.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/pool.h"

namespace riesz::models {

/// The sizes of a LeNet-5: of images of 28 x 28 unless said otherwise.
struct LenetConfig {
  std::int64_t image = 28;  ///< rows and columns; at least 12
  std::int64_t channels = 1;
  std::int64_t labels = 10;

  /// Rows and columns after a pooling.
  std::int64_t after_first_pool() const { return image / 2; }
  std::int64_t after_second_pool() const { return (after_first_pool() - 4) / 2; }

  /// Its letters: b batch, h rows and w columns, x, p and q channels of images and of what the convolutions
  /// give, i and j rows and columns at the end, n and m the inner widths, l labels.
  Roles roles() const {
    check_sizes("LeNet",
                {{"rows at the end", after_second_pool()}, {"channels", channels}, {"labels", labels}});
    return {{'b', {Role::batch}},
            {'h', {image_height_role(), image}},
            {'w', {image_width_role(), image}},
            {'x', {Role::whole, channels}},
            {'p', {Role::inner, 6}},
            {'q', {Role::inner, 16}},
            {'i', {image_height_role(), after_second_pool()}},
            {'j', {image_width_role(), after_second_pool()}},
            {'n', {Role::inner, 120}},
            {'m', {Role::inner, 84}},
            {'l', {Role::vocabulary, labels}}};
  }
};

/// LeNet-5 (LeCun et al. 1998), in the form of DistDL's tutorial, whose last sigmoid is left to the loss.
/// There images lie on a grid of 2 x 2 workers, are repartitioned to be flattened, and go through linear
/// layers on other grids. Here all of this follows from the layout, such as one of the axes "height" and
/// "width".
class Lenet : public Part<Lenet, LenetConfig> {
 public:
  using Part::Part;
  /// Images of (B, channels, image, image) → logits of (B, labels).
  Vector forward(const Vector& images) {
    const Vector x = pool_1_(relu(conv_1_(images)));
    const Vector y = pool_2_(relu(conv_2_(x)));
    return linear_3_(relu(linear_2_(relu(linear_1_(y)))));
  }
  /// The space of images; that of the labels that logits are compared with, (B).
  Space images() const { return *conv_1_.domain(); }
  Space targets() const { return spaces().inside("b"); }
  std::string describe() const override {
    return concat("LeNet: images of ", config.image, ", ", config.labels, " labels");
  }

 private:
  Space maps(const std::string& letters, std::int64_t channels, std::int64_t size) const {
    return images_in(spaces(), letters, channels, size);
  }

  Conv conv_1_{{*this, "conv_1"},
               "bxhw,pxrs->bphw",
               maps("bxhw", config.channels, config.image),
               kernels_in(spaces(), "bxhw,pxrs->bphw", {6, config.channels, 5, 5}),
               maps("bphw", 6, config.image),
               {.windows = {.padding = {.each = {2}}}}};
  MaxPool pool_1_{{*this, "pool_1"},
                  maps("bphw", 6, config.image),
                  maps("bphw", 6, config.after_first_pool()),
                  {.kernel = {2}}};
  Conv conv_2_{{*this, "conv_2"},
               "bphw,qprs->bqhw",
               maps("bphw", 6, config.after_first_pool()),
               kernels_in(spaces(), "bphw,qprs->bqhw", {16, 6, 5, 5}),
               maps("bqhw", 16, config.after_first_pool() - 4)};
  MaxPool pool_2_{{*this, "pool_2"},
                  maps("bqhw", 16, config.after_first_pool() - 4),
                  spaces().inside("bqij"),
                  {.kernel = {2}}};
  Linear linear_1_{*this, "linear_1", "bqij,nqij->bn"};
  Linear linear_2_{*this, "linear_2", "bn,mn->bm"};
  Linear linear_3_{*this, "linear_3", "bm,lm->bl"};
};

}  // namespace riesz::models
