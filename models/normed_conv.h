// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "riesz/models/images.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/conv.h"

namespace riesz::models {

/// (B, channels, H, W) → (B, channels, H, W): a convolution without bias, its batch norm, and perhaps an
/// activation, under the names of Hugging Face's ResNet.
class NormedConv : public Layer<NormedConv> {
 public:
  NormedConv(OwnerAndName place, const ConvSizes& of)
      : Layer(std::move(place)),
        activation_(of.activation),
        convolution_({*this, "convolution"}, of.spec, of.x(spaces()), of.w(spaces()), of.y(spaces()),
                     {.windows = {.stride = {of.stride}, .padding = {.each = {of.kernel / 2}}},
                      .bias = false,
                      .initial = he_normal(of)}),
        normalization_({*this, "normalization"}, of.y(spaces())) {}

  Vector forward(const Vector& x) {
    const Vector y = normalization_(convolution_(x));
    return activation_.empty() ? y : activate(activation_, y);
  }
  std::string describe() const override { return "convolution, norm and activation"; }

 private:
  /// Normal, of variance 2/(outputs that an input reaches) (He et al., 1502.01852).
  static Initial he_normal(const ConvSizes& of) {
    return Initial::normal(std::sqrt(2.0 / static_cast<double>(of.out * of.kernel * of.kernel)));
  }

  std::string activation_;
  Conv convolution_;
  BatchNorm normalization_;
};

}  // namespace riesz::models
