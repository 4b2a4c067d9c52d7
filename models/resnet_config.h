// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/models/images.h"
#include "riesz/models/parts.h"

namespace riesz::models {

/// A residual network's sizes; the defaults are those of ResNet-50 with a thousand labels.
struct ResnetConfig {
  std::vector<std::int64_t> depths = {3, 4, 6, 3};            ///< blocks of each stage
  std::vector<std::int64_t> widths = {256, 512, 1024, 2048};  ///< channels that each stage gives
  std::int64_t stem = 64;                                     ///< channels of the first convolution
  bool bottleneck = true;     ///< blocks of three convolutions, on a fourth of the channels; else of two
  bool halves_first = false;  ///< does the first stage halve rows and columns, as the others do?
  std::int64_t image = 224;   ///< rows and columns of an image
  std::int64_t channels = 3;
  std::int64_t labels = 1000;
  std::string activation = "relu";      ///< as `activate` names it
  ContractionOptions contraction = {};  ///< of the classifier

  /// A residual block.
  struct Block {
    std::string name;      ///< such as "stages.0.layers.1"
    std::int64_t in, out;  ///< channels
    std::int64_t size;     ///< rows and columns of what it is given
    std::int64_t stride;

    bool has_shortcut() const { return in != out || stride != 1; }
  };
  std::vector<Block> blocks() const;
  /// The convolutions of a block; and of its shortcut, where it has one.
  std::vector<ConvSizes> convolutions(const Block& of) const;
  ConvSizes shortcut(const Block& of) const;
  /// The model's first convolution, which halves rows and columns. A pooling halves them again.
  ConvSizes first() const;
  /// Rows and columns behind that pooling.
  std::int64_t pooled() const { return (first().y_size() - 1) / 2 + 1; }

  /// Its letters: b batch, h rows and w columns, c and o channels between blocks, f and g inside of them, x
  /// channels of images, l labels.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const;
};

/// The name in `Resnet` for a tensor of Hugging Face's files. Files of the model below the classifier leave
/// "resnet." out.
std::string resnet_weight_name(const std::string& stored);

}  // namespace riesz::models
