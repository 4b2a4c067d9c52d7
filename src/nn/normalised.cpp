// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/normalised.h"

#include <ATen/ExpandUtils.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "riesz/nn/float_at_least.h"

namespace riesz {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<at::Tensor>;

at::Tensor centred(const at::Tensor& x, const at::Tensor& mean) {
  const at::Tensor values = float_at_least(x);
  return mean.defined() ? values.sub(mean) : values;
}

Maybe maybe(const at::Tensor& tensor) { return tensor.defined() ? Maybe(tensor) : std::nullopt; }

/// Moves nothing between workers: of the nodes that do, the library has three.
struct NormalisedNode : torch::autograd::Function<NormalisedNode> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Maybe& mean,
                            const at::Tensor& scale, const at::Tensor& weight, const Maybe& bias) {
    context->save_for_backward({x, mean.value_or(at::Tensor()), scale, weight, bias.value_or(at::Tensor())});
    const at::Tensor y = centred(x, mean.value_or(at::Tensor())).mul(scale).mul_(weight);
    return (bias ? y.add_(*bias) : y).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &mean = saved[1], &scale = saved[2], &weight = saved[3], &bias = saved[4];
    const at::Tensor ybar = float_at_least(gradients[0]);
    const at::Tensor xbar = ybar.mul(weight).mul(scale), products = ybar.mul(centred(x, mean));
    return {xbar, mean.defined() ? xbar.sum({-1}, true).neg() : at::Tensor(),
            products.mul(weight).sum({-1}, true), at::sum_to(products.mul(scale), weight.sizes()),
            bias.defined() ? at::sum_to(ybar, bias.sizes()) : at::Tensor()};
  }
};

struct SquaredDeviationsNode : torch::autograd::Function<SquaredDeviationsNode> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Maybe& mean) {
    context->save_for_backward({x, mean.value_or(at::Tensor())});
    return centred(x, mean.value_or(at::Tensor())).square().sum({-1});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor xbar = centred(saved[0], saved[1]).mul(gradients[0].unsqueeze(-1).mul(2));
    return {xbar, saved[1].defined() ? xbar.sum({-1}, true).neg() : at::Tensor()};
  }
};

}  // namespace

at::Tensor normalised(const at::Tensor& x, const Normalisation& by) {
  return NormalisedNode::apply(x, maybe(by.mean), by.scale, by.weight, maybe(by.bias));
}

at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean) {
  return SquaredDeviationsNode::apply(x, maybe(mean));
}

}  // namespace riesz
