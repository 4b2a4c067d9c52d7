// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/images.h"

namespace riesz::models {

const Role& image_height_role() {
  static const Role role("image height",
                         Places{.stream = {"height"}, .inside = {"height"}, .weight_in = {"height"}},
                         Role::Home::either);
  return role;
}

const Role& image_width_role() {
  static const Role role("image width",
                         Places{.stream = {"width"}, .inside = {"width"}, .weight_in = {"width"}},
                         Role::Home::either);
  return role;
}

std::string letters_of_x(const std::string& spec) { return spec.substr(0, spec.find(',')); }
std::string letters_of_y(const std::string& spec) { return spec.substr(spec.find("->") + 2); }

Space images_in(const ModelSpaces& spaces, const std::string& letters, std::int64_t channels,
                std::int64_t size) {
  return spaces.stream_or_inside(letters).with_shape({Space::any, channels, size, size});
}

Space kernels_in(const ModelSpaces& spaces, const std::string& spec, const std::vector<std::int64_t>& shape) {
  // Without the kernel's letters, which have no roles: "bchw,oc->bohw" of "bchw,ocrs->bohw".
  const std::size_t kernel = spec.find(',') + 3;
  const Space channels = spaces.weight(spec.substr(0, kernel) + spec.substr(spec.find("->")));
  Space W(channels.partition(), shape);
  for (const int dim : {0, 1})
    for (const Shard& shard : channels.shards(dim))
      W = W.sharded_like(dim, channels.partition().axis(shard.axis).name, shard);
  return W;
}

}  // namespace riesz::models
