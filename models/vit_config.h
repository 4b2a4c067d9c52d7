// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/models/parts.h"

namespace riesz::models {

/// A vision transformer's sizes; the defaults are those of ViT-B/16 with a thousand labels.
struct VitConfig {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;  ///< C; a multiple of heads
  std::int64_t hidden = 0;   ///< of the MLP; 0: 4C
  std::int64_t image = 224;  ///< rows and columns of an image
  std::int64_t patch = 16;   ///< of a patch; image is a multiple
  std::int64_t channels = 3;
  std::int64_t labels = 1000;
  double dropout = 0;  ///< of the embeddings and of each branch
  double attention_dropout = 0;
  std::string activation = "gelu_exact";  ///< of the MLP, as `activate` names it
  double epsilon = 1e-12;                 ///< of the layer norms
  bool qkv_bias = true;
  ContractionOptions contraction = {};  ///< of all linear layers

  /// T: the class token, and the patches.
  std::int64_t tokens() const { return 1 + (image / patch) * (image / patch); }
  /// Its letters: b batch, t sequence, p positions, o the class token and n the patches among them, c width,
  /// x channels, y and z rows and columns of a patch, h heads of d, f the MLP's width, l labels.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const;
  LinearOptions linear(bool bias = true) const { return {.bias = bias, .contraction = contraction}; }
};

/// Cuts images of (B, channels, image, image) into the patches that a ViT reads, (B, T, channels, patch,
/// patch): zeros in the class token's place, then the patches, row by row. Local; plain tensors, each
/// worker's whole batch.
at::Tensor patches_of(const at::Tensor& images, const VitConfig& config);

/// The name in `Vit` for a tensor of Hugging Face's files. Files of the model below the classifier leave
/// "vit." out. "" for weights that a classifier lacks: the pooler, and the token that masks patches.
std::string vit_weight_name(const std::string& stored);

}  // namespace riesz::models
