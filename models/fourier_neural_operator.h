// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/fourier_neural_operator_config.h"
#include "riesz/nn/spatial/spectral_convolution.h"

namespace riesz::models {

/// (B, C, H, W) → (B, C, H, W): gelu of the sum of a spectral convolution and a point-wise one.
class FourierBlock : public Part<FourierBlock, FourierNeuralOperatorConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return gelu_exact(spectral_(x) + pointwise_(x)); }
  std::string describe() const override { return "Fourier block"; }

 private:
  SpectralConvolution spectral_{
      {*this, "convolution"}, spaces().inside("bchw"), spaces().inside("bohw"), config.modes};
  Linear pointwise_{*this, "pointwise", "bchw,oc->bohw", config.linear()};
};

/// (B, C, H, W) → (B, outputs, H, W): an MLP at each point.
class FourierProjection : public Part<FourierProjection, FourierNeuralOperatorConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return down_(gelu_exact(up_(x))); }
  Space fields() const { return *down_.range(); }
  std::string describe() const override { return "projection"; }

 private:
  Linear up_{*this, "up", "bchw,fc->bfhw", config.linear()};
  Linear down_{*this, "down", "bfhw,yf->byhw", config.linear()};
};

/// The Fourier neural operator (Li et al., 2010.08895): from a field on a grid to another, such as from the
/// coefficient of a differential equation to its solution. Each block mixes the lowest frequencies of all
/// channels, and each point's channels. Unlike Li's code, GELU follows the last block too, and the field is
/// not padded. Written once for all layouts: rows and columns are sharded over the axes "height" and "width",
/// channels as a tensor layout has them.
class FourierNeuralOperator : public Part<FourierNeuralOperator, FourierNeuralOperatorConfig> {
 public:
  using Part::Part;
  /// Fields of (B, inputs, size, size), with coordinates among the inputs → (B, outputs, size, size).
  Vector forward(const Vector& x) { return projection_(block_(lifting_(x))); }
  /// The space of what is given, and of what is wanted.
  Space inputs() const { return *lifting_.domain(); }
  Space targets() const { return projection_.fields(); }
  std::string describe() const override {
    return concat("Fourier neural operator: ", config.layers, " layers, width ", config.width, ", modes ",
                  at::IntArrayRef(config.modes), ", ", config.inputs, " to ", config.outputs, " channels of ",
                  config.size, " x ", config.size);
  }

 private:
  Linear lifting_{*this, "lifting", "bxhw,cx->bchw", config.linear()};
  Repeated<FourierBlock> block_{*this, "block", config.layers, config};
  FourierProjection projection_{{*this, "projection"}, config};
};

}  // namespace riesz::models
