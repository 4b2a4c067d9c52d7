// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/vit.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::models {

Roles VitConfig::roles() const {
  RIESZ_CHECK(
      layers >= 1 && heads >= 1 && width >= 1 && image >= 1 && patch >= 1 && channels >= 1 && labels >= 1,
      "ViT: layers ", layers, ", heads ", heads, ", width ", width, ", image ", image, ", patch ", patch,
      ", channels ", channels, ", labels ", labels, "; each is at least 1");
  RIESZ_CHECK(width % heads == 0, "ViT: a width of ", width, " is no multiple of ", heads, " heads");
  RIESZ_CHECK(image % patch == 0, "ViT: an image of ", image, " is no multiple of a patch of ", patch);
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'p', {Role::position, tokens()}},
          {'c', {Role::width, width}},
          {'x', {Role::whole, channels}},
          {'y', {Role::whole, patch}},
          {'z', {Role::whole, patch}},
          {'h', {Role::heads, heads}},
          {'d', {Role::whole, width / heads}},
          {'f', {Role::inner, hidden > 0 ? hidden : 4 * width}},
          {'l', {Role::vocabulary, labels}}};
}

LinearOptions VitConfig::linear(bool bias) const { return {.bias = bias, .contraction = contraction}; }

at::Tensor patches_of(const at::Tensor& images, const VitConfig& config) {
  const std::int64_t P = config.patch, n = config.image / P;
  const std::vector<std::int64_t> wanted{config.channels, config.image, config.image};
  RIESZ_CHECK(images.dim() == 4 && images.sizes().slice(1) == at::IntArrayRef(wanted), "ViT: images of ",
              images.sizes(), "; they are of (B, ", config.channels, ", ", config.image, ", ", config.image,
              ")");
  const std::int64_t B = images.size(0);
  const at::Tensor patches = images.reshape({B, config.channels, n, P, n, P})
                                 .permute({0, 2, 4, 1, 3, 5})
                                 .reshape({B, n * n, config.channels, P, P});
  return at::cat({at::zeros({B, 1, config.channels, P, P}, images.options()), patches}, 1);
}

Vector VitEmbeddings::in_rows(bool of_class, const Vector& c) const {
  at::Tensor rows = at::zeros({config_.tokens(), config_.width}, c.local().options().requires_grad(false));
  of_class ? rows.select(0, 0).fill_(1) : rows.narrow(0, 1, config_.tokens() - 1).fill_(1);
  const Space X = spaces().stream("tc").with_shape({config_.tokens(), config_.width});
  return mul(constant(distribute(X, rows)), "tc", c, "c");
}

Vector VitEmbeddings::forward(const Vector& patches) {
  const Space rows = spaces().stream("tc").with_shape({config_.tokens(), config_.width});
  const Vector same_for_all =
      in_rows(true, class_.value()) + in_rows(false, bias_.value()) + to_space(positions_.value(), rows);
  return dropout_(add(projection_(patches), "btc", same_for_all, "tc"));
}

Vector Vit::forward(const Vector& patches) {
  const Vector x = layernorm_(layer_(embeddings_(patches)));                        // (B, T, C)
  return classifier_(to_space(select(x, 1, 0), layernorm_.spaces().stream("bc")));  // on the norm's stage
}

std::string called_in_vit(const std::string& stored) {
  if (stored.starts_with("classifier.")) return stored;
  const std::string name = stored.starts_with("vit.") ? stored : "vit." + stored;
  return name.starts_with("vit.pooler.") || name == "vit.embeddings.mask_token" ? "" : name;
}

std::string Vit::describe() const {
  return concat("ViT: ", config_.layers, " layers, ", config_.heads, " heads, width ", config_.width,
                ", images of ", config_.image, ", patches of ", config_.patch, ", ", config_.labels,
                " labels");
}

}  // namespace riesz::models
