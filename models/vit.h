// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "riesz/models/parts.h"
#include "riesz/models/vit_config.h"

namespace riesz::models {

/// (B, T, channels, patch, patch) → (B, T, C): each patch by one matrix, the class token, the positions.
class VitEmbeddings : public Part<VitEmbeddings, VitConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& patches) {
    const Vector token = expand(class_.value(), "c", spaces().stream("oc"), "oc");
    const Vector others = expand(bias_.value(), "c", spaces().stream("nc"), "nc");
    const Space rows = spaces().stream("tc").with_shape({config.tokens(), config.width});
    const Vector all =
        to_space(cat({token, others}, 0), rows) + to_space(positions_.value(), rows);  // (T, C)
    return dropout_(add(projection_(patches), "btc", all, "tc"));
  }
  Space patches() const { return *projection_.domain(); }
  std::string describe() const override { return "patches, class token and positions"; }

 private:
  ParameterOptions published(std::vector<std::int64_t> shape) const {
    return {.initial = Initial::normal(0.02), .shape = std::move(shape)};
  }

  Parameter class_{parameter("cls_token", spaces().weight("btc,c->btc"), published({1, 1, config.width}))};
  Parameter positions_{parameter("position_embeddings", spaces().weight("tp,pc->tc"),
                                 published({1, config.tokens(), config.width}))};
  Linear projection_{*this,
                     "patch_embeddings.projection",
                     "btxyz,cxyz->btc",
                     {.bias = false,
                      .weight_shape = {config.width, config.channels, config.patch, config.patch},
                      .contraction = config.contraction}};
  Parameter bias_{parameter("patch_embeddings.projection.bias", spaces().weight("btc,c->btc"))};
  Dropout dropout_{*this, "dropout", config.dropout};
};

/// (B, T, C) → (B, T, C): self-attention of all positions to all.
class VitAttention : public Part<VitAttention, VitConfig> {
 public:
  using Part::Part;
  Vector forward(const Vector& x) { return dropout_(dense_(attend_(query_(x), key_(x), value_(x)))); }
  std::string describe() const override { return "self-attention"; }

 private:
  Linear query_{*this, "attention.query", "btc,hdc->bthd", config.linear(config.qkv_bias)};
  Linear key_{*this, "attention.key", "btc,hdc->bthd", config.linear(config.qkv_bias)};
  Linear value_{*this, "attention.value", "btc,hdc->bthd", config.linear(config.qkv_bias)};
  Attention attend_{*this, "attention", {.dropout = config.attention_dropout}};
  Linear dense_{*this, "output.dense", "bthd,chd->btc", config.linear()};
  Dropout dropout_{*this, "output.dropout", config.dropout};
};

/// (B, T, C) → (B, T, C): a transformer block with the norms first.
class VitBlock : public Part<VitBlock, VitConfig> {
 public:
  using Part::Part;
  Vector forward(Vector x) {
    x = x + attention_(before_(x));
    return x + dropout_(output_(intermediate_(after_(x), config.activation)));
  }
  std::string describe() const override { return "transformer block"; }

 private:
  LayerNorm before_{*this, "layernorm_before", "btc", config.epsilon};
  VitAttention attention_{{*this, "attention"}, config};
  LayerNorm after_{*this, "layernorm_after", "btc", config.epsilon};
  Linear intermediate_{*this, "intermediate.dense", "btc,fc->btf", config.linear()};
  Linear output_{*this, "output.dense", "btf,cf->btc", config.linear()};
  Dropout dropout_{*this, "output.dropout", config.dropout};
};

/// The vision transformer (Dosovitskiy et al., 2010.11929) with a classifier on its class token, under the
/// names and the published shapes of Hugging Face's checkpoints. Written once for all layouts.
class Vit : public Part<Vit, VitConfig> {
 public:
  using Part::Part;
  /// `patches_of` images, in patches() → logits of (B, labels).
  Vector forward(const Vector& patches) {
    const Vector x = layernorm_(layer_(embeddings_(patches)));                        // (B, T, C)
    return classifier_(to_space(select(x, 1, 0), layernorm_.spaces().stream("bc")));  // on the norm's stage
  }
  /// The space of images' patches, (B, T, channels, patch, patch); that of the labels that logits are
  /// compared with, (B).
  Space patches() const { return embeddings_.patches(); }
  Space targets() const { return classifier_.spaces().inside("b"); }
  std::string describe() const override {
    return concat("ViT: ", config.layers, " layers, ", config.heads, " heads, width ", config.width,
                  ", images of ", config.image, ", patches of ", config.patch, ", ", config.labels,
                  " labels");
  }

 private:
  VitEmbeddings embeddings_{{*this, "vit.embeddings"}, config};
  Repeated<VitBlock> layer_{*this, "vit.encoder.layer", config.layers, config};
  LayerNorm layernorm_{*this, "vit.layernorm", "btc", config.epsilon};
  Linear classifier_{*this, "classifier", "bc,lc->bl", config.linear()};
};

}  // namespace riesz::models
