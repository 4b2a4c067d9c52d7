// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "riesz/nn/attention/attention.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"

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
  /// Its letters: b batch, t sequence, p positions, c width, x channels, y and z rows and columns of a patch,
  /// h heads of d, f the MLP's width, l labels.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const;
  LinearOptions linear(bool bias = true) const;
};

/// Cuts images of (B, channels, image, image) into the patches that a ViT reads, (B, T, channels, patch,
/// patch): zeros in the class token's place, then the patches, row by row. Local; plain tensors, each
/// worker's whole batch.
at::Tensor patches_of(const at::Tensor& images, const VitConfig& config);

/// (B, T, channels, patch, patch) → (B, T, C): each patch by one matrix, the class token, the positions.
class VitEmbeddings : public Layer<VitEmbeddings> {
 public:
  VitEmbeddings(OwnerAndName place, const VitConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& patches);
  Space patches() const { return *projection_.domain(); }
  std::string describe() const override { return "patches, class token and positions"; }

 private:
  /// c, in the rows of (T, C) that are the class token's, or in those of patches; zero elsewhere.
  Vector in_rows(bool of_class, const Vector& c) const;
  LinearOptions matrix() const {
    LinearOptions options = config_.linear(false);
    options.weight_shape = {config_.width, config_.channels, config_.patch, config_.patch};
    return options;
  }
  ParameterOptions published(std::vector<std::int64_t> shape) const {
    return {.initial = Initial::normal(0.02), .shape = std::move(shape)};
  }

  VitConfig config_;
  Parameter class_{parameter("cls_token", spaces().weight("btc,c->btc"), published({1, 1, config_.width}))};
  Parameter positions_{parameter("position_embeddings", spaces().weight("tp,pc->tc"),
                                 published({1, config_.tokens(), config_.width}))};
  Linear projection_{*this, "patch_embeddings.projection", "btxyz,cxyz->btc", matrix()};
  Parameter bias_{parameter("patch_embeddings.projection.bias", spaces().weight("btc,c->btc"))};
  Dropout dropout_{*this, "dropout", config_.dropout};
};

/// (B, T, C) → (B, T, C): self-attention of all positions to all.
class VitAttention : public Layer<VitAttention> {
 public:
  VitAttention(OwnerAndName place, const VitConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(const Vector& x) { return dropout_(dense_(attend_(query_(x), key_(x), value_(x)))); }
  std::string describe() const override { return "self-attention"; }

 private:
  VitConfig config_;
  Linear query_{*this, "attention.query", "btc,hdc->bthd", config_.linear(config_.qkv_bias)};
  Linear key_{*this, "attention.key", "btc,hdc->bthd", config_.linear(config_.qkv_bias)};
  Linear value_{*this, "attention.value", "btc,hdc->bthd", config_.linear(config_.qkv_bias)};
  Attention attend_{*this, "attention", {.dropout = config_.attention_dropout}};
  Linear dense_{*this, "output.dense", "bthd,chd->btc", config_.linear()};
  Dropout dropout_{*this, "output.dropout", config_.dropout};
};

/// (B, T, C) → (B, T, C): a transformer block with the norms first.
class VitBlock : public Layer<VitBlock> {
 public:
  VitBlock(OwnerAndName place, const VitConfig& config) : Layer(std::move(place)), config_(config) {}

  Vector forward(Vector x) {
    x = x + attention_(before_(x));
    return x + dropout_(output_(intermediate_(after_(x), config_.activation)));
  }
  std::string describe() const override { return "transformer block"; }

 private:
  VitConfig config_;
  LayerNorm before_{*this, "layernorm_before", "btc", config_.epsilon};
  VitAttention attention_{{*this, "attention"}, config_};
  LayerNorm after_{*this, "layernorm_after", "btc", config_.epsilon};
  Linear intermediate_{*this, "intermediate.dense", "btc,fc->btf", config_.linear()};
  Linear output_{*this, "output.dense", "btf,cf->btc", config_.linear()};
  Dropout dropout_{*this, "output.dropout", config_.dropout};
};

/// The vision transformer (Dosovitskiy et al., 2010.11929) with a classifier on its class token, under the
/// names and the published shapes of Hugging Face's checkpoints. Written once for all layouts.
class Vit : public Layer<Vit> {
 public:
  Vit(const Layout& layout, const VitConfig& config) : Vit(ModelSpaces(layout, config.roles()), config) {}
  /// With some vectors or weights elsewhere. @throws Error unless the letters have the config's roles.
  Vit(const ModelSpaces& spaces, const VitConfig& config) : Layer("", spaces), config_(config) {}

  /// `patches_of` images, in patches() → logits of (B, labels).
  Vector forward(const Vector& patches);

  /// The space of images' patches, (B, T, channels, patch, patch); that of the labels that logits are
  /// compared with, (B).
  Space patches() const { return embeddings_.patches(); }
  Space targets() const { return classifier_.spaces().inside("b"); }
  std::string describe() const override;

 private:
  VitConfig config_;
  VitEmbeddings embeddings_{{*this, "vit.embeddings"}, config_};
  Repeated<VitBlock> layer_{*this, "vit.encoder.layer", config_.layers, config_};
  LayerNorm layernorm_{*this, "vit.layernorm", "btc", config_.epsilon};
  Linear classifier_{*this, "classifier", "bc,lc->bl", config_.linear()};
};

/// The name in `Vit` for a tensor of Hugging Face's files. Files of the model below the classifier leave
/// "vit." out. "" for weights that a classifier lacks: the pooler, and the token that masks patches.
std::string called_in_vit(const std::string& stored);

}  // namespace riesz::models
