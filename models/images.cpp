// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/images.h"

namespace riesz::models {

const Role& height_role() {
  static const Role role("height",
                         Places{.stream = {"height"}, .inside = {"height"}, .weight_in = {"height"}},
                         Role::Home::either);
  return role;
}

const Role& width_role() {
  static const Role role("columns", Places{.stream = {"width"}, .inside = {"width"}, .weight_in = {"width"}},
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
  const std::size_t comma = spec.find(',');
  const Space channels = spaces.weight(spec.substr(0, comma + 3) + spec.substr(spec.find("->")));
  Space W(channels.partition(), shape);
  for (const int dim : {0, 1})
    for (const Shard& shard : channels.shards(dim))
      W = W.sharded_like(dim, channels.partition().axis(shard.axis).name, shard);
  return W;
}

}  // namespace riesz::models
