// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/resnet_config.h"

#include <ATen/core/Tensor.h>

namespace riesz::models {
namespace {

/// Of a bottleneck's convolutions inside.
constexpr std::int64_t kReduction = 4;

}  // namespace

std::vector<ResnetConfig::Block> ResnetConfig::blocks() const {
  std::vector<Block> all;
  std::int64_t in = stem, size = pooled();
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    for (std::int64_t layer = 0; layer < depths[stage]; ++layer) {
      const std::int64_t stride = layer == 0 && (stage > 0 || halves_first) ? 2 : 1;
      all.push_back({concat("stages.", stage, ".layers.", layer), in, widths[stage], size, stride});
      in = widths[stage];
      size = (size - 1) / stride + 1;
    }
  }
  return all;
}

std::vector<ConvSizes> ResnetConfig::convolutions(const Block& of) const {
  const std::int64_t behind = shortcut(of).y_size();
  if (!bottleneck)
    return {{.spec = "bchw,fcrs->bfhw",
             .in = of.in,
             .out = of.out,
             .size = of.size,
             .stride = of.stride,
             .activation = activation},
            {.spec = "bfhw,cfrs->bchw", .in = of.out, .out = of.out, .size = behind}};
  const std::int64_t inside = of.out / kReduction;
  return {{.spec = "bchw,fcrs->bfhw",
           .in = of.in,
           .out = inside,
           .size = of.size,
           .kernel = 1,
           .activation = activation},
          {.spec = "bfhw,gfrs->bghw",
           .in = inside,
           .out = inside,
           .size = of.size,
           .stride = of.stride,
           .activation = activation},
          {.spec = "bghw,cgrs->bchw", .in = inside, .out = of.out, .size = behind, .kernel = 1}};
}

ConvSizes ResnetConfig::shortcut(const Block& of) const {
  return {.spec = "bchw,ocrs->bohw",
          .in = of.in,
          .out = of.out,
          .size = of.size,
          .kernel = 1,
          .stride = of.stride};
}

ConvSizes ResnetConfig::first() const {
  return {.spec = "bxhw,cxrs->bchw",
          .in = channels,
          .out = stem,
          .size = image,
          .kernel = 7,
          .stride = 2,
          .activation = activation};
}

Roles ResnetConfig::roles() const {
  check_sizes("ResNet", {{"stages", static_cast<std::int64_t>(depths.size())},
                         {"stem", stem},
                         {"image", image},
                         {"channels", channels},
                         {"labels", labels}});
  RIESZ_CHECK(depths.size() == widths.size(), "ResNet: ", depths.size(), " depths, ", at::IntArrayRef(depths),
              ", and ", widths.size(), " widths, ", at::IntArrayRef(widths), "; each stage has one of both");
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    check_sizes("ResNet", {{"depth", depths[stage]}, {"width", widths[stage]}});
    RIESZ_CHECK(!bottleneck || widths[stage] % kReduction == 0, "ResNet: a stage of ", widths[stage],
                " channels; a bottleneck has a fourth of them inside, so give a multiple of ", kReduction);
  }
  return {{'b', {Role::batch}},
          {'h', {image_height_role(), image}},
          {'w', {image_width_role(), image}},
          {'c', {Role::width, widths.back()}},
          {'o', {Role::width, widths.back()}},
          {'f', {Role::inner, widths.back()}},
          {'g', {Role::inner, widths.back()}},
          {'x', {Role::whole, channels}},
          {'l', {Role::vocabulary, labels}}};
}

std::string resnet_weight_name(const std::string& stored) {
  const bool below = stored.starts_with("embedder.") || stored.starts_with("encoder.");
  return below ? "resnet." + stored : stored;
}

}  // namespace riesz::models
