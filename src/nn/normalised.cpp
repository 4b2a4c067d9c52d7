// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/normalised.h"

#include <ATen/ExpandUtils.h>

#include <memory>
#include <vector>

#include "riesz/nn/float_at_least.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

at::Tensor centred(const at::Tensor& x, const at::Tensor& mean) {
  const at::Tensor values = float_at_least(x);
  return mean.defined() ? values.sub(mean) : values;
}

/// Of x, mean, scale, weight and bias. Moves nothing between workers.
class NormalisedNode : public detail::Node {
 public:
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    const at::Tensor &x = inputs[0], &mean = inputs[1], &scale = inputs[2], &weight = inputs[3],
                     &bias = inputs[4];
    const at::Tensor y = centred(x, mean).mul(scale).mul_(weight);
    return {(bias.defined() ? y.add_(bias) : y).to(x.scalar_type())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor &x = inputs[0], &mean = inputs[1], &scale = inputs[2], &weight = inputs[3],
                     &bias = inputs[4];
    const at::Tensor ybar = float_at_least(gradients[0]);
    const at::Tensor xbar = ybar.mul(weight).mul(scale), products = ybar.mul(centred(x, mean));
    return {xbar, mean.defined() ? xbar.sum({-1}, true).neg() : at::Tensor(),
            products.mul(weight).sum({-1}, true), at::sum_to(products.mul(scale), weight.sizes()),
            bias.defined() ? at::sum_to(ybar, bias.sizes()) : at::Tensor()};
  }
};

/// Of x and mean.
class SquaredDeviationsNode : public detail::Node {
 public:
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    return {centred(inputs[0], inputs[1]).square().sum({-1})};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor xbar = centred(inputs[0], inputs[1]).mul(gradients[0].unsqueeze(-1).mul(2));
    return {xbar, inputs[1].defined() ? xbar.sum({-1}, true).neg() : at::Tensor()};
  }
};

}  // namespace

at::Tensor normalised(const at::Tensor& x, const Normalisation& by) {
  return detail::record(std::make_shared<NormalisedNode>(), {x, by.mean, by.scale, by.weight, by.bias})[0];
}

at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean) {
  return detail::record(std::make_shared<SquaredDeviationsNode>(), {x, mean})[0];
}

}  // namespace riesz
