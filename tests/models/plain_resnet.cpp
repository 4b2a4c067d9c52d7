// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "plain_resnet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <string>
#include <vector>

namespace riesz::plain {
namespace {

struct Network {
  const Weights& weights;
  bool training;

  at::Tensor convolved(const std::string& name, const at::Tensor& x, std::int64_t stride) const {
    const at::Tensor& w = weights.at(name + ".convolution.weight");
    const std::string norm = name + ".normalization.";
    const at::Tensor y = at::conv2d(x, w, {}, {stride, stride}, {w.size(2) / 2, w.size(3) / 2});
    return at::batch_norm(y, weights.at(norm + "weight"), weights.at(norm + "bias"),
                          weights.at(norm + "running_mean"), weights.at(norm + "running_var"), training, 0.1,
                          1e-5, /*cudnn_enabled=*/false);
  }

  at::Tensor block(const std::string& name, const at::Tensor& x, std::int64_t stride, bool bottleneck) const {
    const std::string layer = name + ".layer.";
    at::Tensor y = at::relu(convolved(layer + "0", x, bottleneck ? 1 : stride));
    if (bottleneck) y = at::relu(convolved(layer + "1", y, stride));
    y = convolved(layer + (bottleneck ? "2" : "1"), y, 1);
    const bool same = y.sizes() == x.sizes();
    return at::relu(y + (same ? x : convolved(name + ".shortcut", x, stride)));
  }
};

}  // namespace

at::Tensor resnet(const models::ResnetConfig& config, const Weights& weights, const at::Tensor& images,
                  bool training) {
  const Network of{weights, training};
  at::Tensor x = at::relu(of.convolved("resnet.embedder.embedder", images, 2));
  x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
  for (std::size_t stage = 0; stage < config.depths.size(); ++stage) {
    const std::string name = "resnet.encoder.stages." + std::to_string(stage) + ".layers.";
    for (std::int64_t i = 0; i < config.depths[stage]; ++i) {
      const bool halves = i == 0 && (stage > 0 || config.halves_first);
      x = of.block(name + std::to_string(i), x, halves ? 2 : 1, config.bottleneck);
    }
  }
  return at::linear(x.mean({2, 3}), weights.at("classifier.1.weight"), weights.at("classifier.1.bias"));
}

}  // namespace riesz::plain
