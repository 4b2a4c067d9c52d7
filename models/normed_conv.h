// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "riesz/models/images.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/conv.h"

namespace riesz::models {

/// (B, in, H, W) → (B, out, ⌈H/stride⌉, ⌈W/stride⌉): a convolution without bias, its batch norm, and perhaps
/// an activation, under the names of Hugging Face's ResNet. The weight begins normal, of variance
/// 2/(out·kernel²) (He et al., 1502.01852).
class NormedConv : public Layer<NormedConv> {
 public:
  NormedConv(OwnerAndName place, const ConvSizes& sizes)
      : Layer(std::move(place)),
        activation_(sizes.activation),
        convolution_({*this, "convolution"}, sizes.spec, sizes.x(spaces()), sizes.w(spaces()),
                     sizes.y(spaces()),
                     {.windows = {.stride = {sizes.stride}, .padding = {.each = {sizes.kernel / 2}}},
                      .bias = false,
                      .initial = sizes.initial()}),
        normalization_({*this, "normalization"}, sizes.y(spaces())) {}

  Vector forward(const Vector& x) {
    const Vector y = normalization_(convolution_(x));
    return activation_.empty() ? y : activate(activation_, y);
  }
  std::string describe() const override { return "convolution, norm and activation"; }

 private:
  std::string activation_;
  Conv convolution_;
  BatchNorm normalization_;
};

}  // namespace riesz::models
