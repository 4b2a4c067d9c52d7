// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// LeNet is torch's, values and gradients, also where images lie as in DistDL's tutorial.
#include "riesz/models/lenet.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include "families.h"
#include "riesz/models/unet.h"

namespace riesz::testing {
namespace {

at::Tensor lenet_plainly(const plain::Weights& w, const at::Tensor& images) {
  const auto conv = [&](const std::string& name, const at::Tensor& x, std::int64_t padding) {
    const at::Tensor y =
        at::conv2d(x, w.at(name + ".weight"), w.at(name + ".bias"), {1, 1}, {padding, padding});
    return at::max_pool2d(at::relu(y), {2, 2});
  };
  const auto linear = [&](const std::string& name, const at::Tensor& x) {
    return at::linear(x, w.at(name + ".weight").flatten(1), w.at(name + ".bias"));
  };
  const at::Tensor x = conv("conv_2", conv("conv_1", images, 2), 0).flatten(1);
  return linear("linear_3", at::relu(linear("linear_2", at::relu(linear("linear_1", x)))));
}

FamilyCase<models::Lenet, models::LenetConfig> lenet_case() {
  const models::LenetConfig config{.image = 19, .channels = 2, .labels = 7};
  const auto images = [](int step) {
    return numbers_of({5, 2, 19, 19}, 1009, step).to(at::kDouble).div(500).sub(1);
  };
  return {
      config, images, [](int step) { return numbers_of({5}, 7, step); },
      [](const models::Lenet& model) { return model.images(); },
      [=](const plain::Weights& w, int step) { return plain::Predictions{lenet_plainly(w, images(step))}; }};
}

/// Rows and columns lie over their axes between and inside of layers, and so does a weight that reads them.
TEST(Images, LieAsTheLayoutSays) {
  const Roles lenet = models::LenetConfig{}.roles(), unet = models::UnetConfig{.width = 8}.roles();
  const Partition mesh = Partition::simulated(4).grid({{"height", 2}, {"width", 2}});
  const ModelSpaces on_images(spaces::one_d(mesh), lenet);
  EXPECT_EQ(on_images.inside("bqij").shards(2).size() + on_images.inside("bqij").shards(3).size(), 2U);
  EXPECT_EQ(on_images.weight("bqij,nqij->bn").shards(2).size(), 1U);
  EXPECT_EQ(on_images.weight("bqij,nqij->bn").shards(3).size(), 1U);
  const Partition cube = Partition::simulated(8).grid({{"a", 2}, {"b", 2}, {"c", 2}});
  const ModelSpaces in_three_d(spaces::three_d(cube), unet);
  const Space any(cube, {Space::any, 8, 12, 12});
  EXPECT_EQ(models::images_in(in_three_d, "bchw", 8, 12),
            any.sharded(0, "a").sharded(0, "c").sharded(1, "b"));
  EXPECT_EQ(models::images_in(in_three_d, "bfhw", 8, 12),
            any.sharded(0, "a").sharded(0, "b").sharded(1, "c"));
}

/// The tutorial's grid is the last.
TEST(Lenet, IsTorchsWhereverImagesLie) {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<FamilyLayout> all{{one_d, Sequence::whole, {{"height", p}}},
                                {one_d, Sequence::whole, {{"tp", p}}}};
  if (p % 2 == 0) all.push_back({one_d, Sequence::whole, {{"dp", 2}, {"width", p / 2}}, 3});
  if (p % 2 == 0) all.push_back({one_d, Sequence::whole, {{"height", 2}, {"width", p / 2}}});
  expect_the_published_model_at_every_layout(lenet_case(), all);
}

}  // namespace
}  // namespace riesz::testing
