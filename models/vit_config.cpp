// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/vit_config.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

namespace riesz::models {

Roles VitConfig::roles() const {
  check_sizes("ViT", {{"layers", layers},
                      {"heads", heads},
                      {"width", width},
                      {"image", image},
                      {"patch", patch},
                      {"channels", channels},
                      {"labels", labels}});
  const std::int64_t d = width_of_heads("ViT", width, heads);
  RIESZ_CHECK(image % patch == 0, "ViT: an image of ", image, " is no multiple of a patch of ", patch);
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'p', {Role::position, tokens()}},
          {'o', {Role::whole, 1}},
          {'n', {Role::whole, tokens() - 1}},
          {'c', {Role::width, width}},
          {'x', {Role::whole, channels}},
          {'y', {Role::whole, patch}},
          {'z', {Role::whole, patch}},
          {'h', {Role::heads, heads}},
          {'d', {Role::whole, d}},
          {'f', {Role::inner, hidden > 0 ? hidden : 4 * width}},
          {'l', {Role::vocabulary, labels}}};
}

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

std::string vit_weight_name(const std::string& stored) {
  if (stored.starts_with("classifier.")) return stored;
  const std::string name = stored.starts_with("vit.") ? stored : "vit." + stored;
  return name.starts_with("vit.pooler.") || name == "vit.embeddings.mask_token" ? "" : name;
}

}  // namespace riesz::models
