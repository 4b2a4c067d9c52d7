// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/local/vector_jacobian.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace riesz::detail {

std::vector<at::Tensor> vector_jacobian(const at::Tensor& y, const std::vector<at::Tensor>& zs,
                                        const at::Tensor& ybar, bool again) {
  std::vector<at::Tensor> gradients(zs.size());
  if (y.requires_grad() && !zs.empty())
    gradients = torch::autograd::grad({y}, zs, {ybar}, again, again, true);
  for (std::size_t i = 0; i < zs.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(zs[i]);
  return gradients;
}

}  // namespace riesz::detail
